//! What the machine does.
