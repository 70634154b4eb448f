//! The simulated systems, one room each.
