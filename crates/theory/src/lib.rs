//! Exact solutions of closed product-form networks, as fast as the recursion allows.
//!
//! Pure functions of numbers: no file, no Python, nothing else of ours. Times are in any one unit, and
//! throughputs in its reciprocal. Demands and times must be finite and not negative, and not all zero; a
//! caller checks that, since only it can name the item. Times may differ by a factor of up to 1e150.
//!
//! Every quantity is a sum, product or quotient of positive numbers: nothing cancels, nothing overflows, and no
//! scaling is needed, whatever the population.

pub mod fixed_rate;
pub mod load_dependent;
pub mod multiclass;
