//! The ziggurat of the exponential density (Marsaglia and Tsang, Journal of Statistical Software 5, 2000, 8): 256
//! layers of equal area. 98 of 100 numbers need a table, a comparison and a product, no logarithm.

/// Where the tail begins.
// Both constants solve one equation: 256 equal areas fill the density exactly. They change only together.
pub const TAIL: f64 = 7.697_117_470_131_05;
/// Area of each layer.
const AREA: f64 = 0.003_949_659_822_581_557;
const COUNT: usize = 256;

/// A layer, for a part of 2^53 of its length.
#[derive(Clone, Copy)]
pub struct Layer {
    /// Parts below this are under the density for certain.
    pub inside: u64,
    /// Length of a part.
    pub unit: f64,
}

/// Right end of each layer, the lowest first (of area, with the tail); then 0.
pub static EDGES: [f64; COUNT + 1] = edges();

/// The layers, by the low 8 bits of a random number.
pub static LAYERS: [Layer; COUNT] = layers();

/// x_i = -ln(AREA / x_{i-1} + e^{-x_{i-1}}): the density at x_i is that at x_{i-1} and a layer's height more.
const fn edges() -> [f64; COUNT + 1] {
    let mut edges = [0.0; COUNT + 1];
    edges[0] = AREA / exp_negative(TAIL);
    edges[1] = TAIL;
    let mut i = 2;
    while i < COUNT {
        edges[i] = minus_ln(AREA / edges[i - 1] + exp_negative(edges[i - 1]));
        i += 1;
    }
    edges
}

// Tables are made by the compiler: at run time they would cost a check whether they exist in every draw.
const fn layers() -> [Layer; COUNT] {
    const PARTS: f64 = (1u64 << 53) as f64;
    let edges = edges();
    let mut layers = [Layer { inside: 0, unit: 0.0 }; COUNT];
    let mut i = 0;
    while i < COUNT {
        layers[i] = Layer { inside: (edges[i + 1] / edges[i] * PARTS) as u64, unit: edges[i] / PARTS };
        i += 1;
    }
    layers
}

/// e^-x for x from 0 to 8, at compile time, where `f64::exp` cannot be called: the series of e^(x / 16), raised to the
/// 16th power. The argument is at most 1/2, so that 24 terms leave nothing; all are positive, so that nothing cancels.
const fn exp_negative(x: f64) -> f64 {
    let part = x / 16.0;
    let (mut sum, mut term, mut n) = (1.0, 1.0, 1.0);
    while n < 25.0 {
        term *= part / n;
        sum += term;
        n += 1.0;
    }
    let two = sum * sum;
    let four = two * two;
    let eight = four * four;
    1.0 / (eight * eight)
}

/// -ln y for y from e^-8 to 1, at compile time: Newton's method on e^-x = y. From 0 it approaches the root of the
/// convex function from below without overshooting: about 8 steps of 1 at most, and then a few that double the
/// digits.
const fn minus_ln(y: f64) -> f64 {
    let (mut x, mut n) = (0.0, 0);
    while n < 30 {
        let value = exp_negative(x);
        x += (value - y) / value;
        n += 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The top of the last layer is the density's: the layers fill it.
    #[test]
    fn layers_are_stacked_up_to_the_density() {
        for i in 1..COUNT - 1 {
            let height = (-EDGES[i + 1]).exp() - (-EDGES[i]).exp();
            assert!((EDGES[i] * height / AREA - 1.0).abs() < 1e-10, "layer {i}");
        }
        let last = COUNT - 1;
        assert!((EDGES[last] * (1.0 - (-EDGES[last]).exp()) / AREA - 1.0).abs() < 1e-9);
        let base = TAIL * (-TAIL).exp() + (-TAIL).exp();
        assert!((base / AREA - 1.0).abs() < 1e-9, "rectangle and tail");
        assert!((EDGES[0] * (-TAIL).exp() / AREA - 1.0).abs() < 1e-12);
    }
}
