//! Theory against numerical integrals, and descriptions of any kind.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Distribution, FORMS, expand};

/// Every kind and its limiting cases, one description per line. The engine's tests draw from the same ones.
const DESCRIPTIONS: &str = include_str!("../../tests/distributions.txt");

fn law(text: &str) -> Distribution {
    Distribution::parse(&json!(text)).unwrap()
}

/// Integral of f over (0, 1) by the midpoint rule.
fn integral(f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: u32 = 200_000;
    (0..STEPS).map(|i| f((f64::from(i) + 0.5) / f64::from(STEPS))).sum::<f64>() / f64::from(STEPS)
}

/// E T^n = n int_0^inf t^(n-1) (1 - F(t)) dt, with t = s / (1 - s): moments and c.d.f. are two formulas.
#[test]
fn moments_agree_with_the_integral_of_the_cumulative_distribution() {
    for text in DESCRIPTIONS.lines() {
        let law = law(text);
        if text.contains("sd=9") || text.contains("0.6") || text.contains("sd=1)") {
            continue; // too heavy a tail for this integral
        }
        let moment = |n: i32| {
            integral(|s| {
                let t = s / (1.0 - s);
                f64::from(n) * t.powi(n - 1) * (1.0 - law.cumulative(t)) / (1.0 - s).powi(2)
            })
        };
        let [first, second, third] = [moment(1), moment(2), moment(3)];
        let variance = second - first * first;
        let skewness = (third - 3.0 * first * second + 2.0 * first.powi(3)) / variance.powf(1.5);
        let pairs = [
            (first, law.mean(), 1e-5),
            (variance, law.variance().unwrap(), 1e-3),
            (skewness, law.skewness().unwrap(), 2e-2),
        ];
        for (by_integral, exact, tolerance) in pairs {
            let off = (by_integral - exact).abs() / exact.abs().max(0.1);
            assert!(off < tolerance, "{text}: {by_integral} against {exact}");
        }
    }
}

#[test]
fn known_moments() {
    let service = law("hyperexponential(weights=[0.9,0.1],means=[0.1,5])");
    assert!((service.mean() - 0.59).abs() < 1e-15);
    assert!((service.variance().unwrap() - (2.0 * (0.9 * 0.01 + 0.1 * 25.0) - 0.3481)).abs() < 1e-12);
    let weibull = law("weibull(shape=0.5,scale=1)");
    assert!((weibull.mean() - 2.0).abs() < 1e-12 && (weibull.variance().unwrap() - 20.0).abs() < 1e-10);
    let pareto = law("bounded_pareto(shape=1,low=1,high=2.718281828459045)");
    assert!((pareto.mean() - 1.0 / (1.0 - (-1f64).exp())).abs() < 1e-12);
    assert_eq!(law("lognormal(mean=2,sd=2)").skewness(), Some(4.0));
    assert_eq!((law("3").skewness(), law("3").variance()), (None, Some(0.0)));
    assert_eq!(law("lognormal(mean=1e-300,sd=1e9)").skewness(), None);
}

fn error(description: Value) -> String {
    Distribution::parse(&description).unwrap_err().to_string()
}

#[test]
fn errors_name_the_parameter_what_was_given_and_what_is_allowed() {
    let cases = [
        (
            json!({"kind": "exponential", "mean": -20}),
            "exponential: mean = -20: is out of range; give a number above 0 and at most 1000000000 [s]",
        ),
        (
            json!({"kind": "exponential", "men": 20}),
            "{\"kind\":\"exponential\",\"men\":20}: unknown parameter `men`, expected `mean` or `max`; FORMS",
        ),
        (
            json!({"kind": "erlang", "mean": 1}),
            "{\"kind\":\"erlang\",\"mean\":1}: missing field `shape`; FORMS",
        ),
        (
            json!("erlang(shape=2.5,mean=1)"),
            "\"erlang(shape=2.5,mean=1)\": 2.5 is not a whole number from 0 to 4294967295; FORMS",
        ),
        (
            json!("hyperexponential(weights=[0.9,0.2],means=[0.1,5])"),
            "hyperexponential: weights = [0.9, 0.2]: sum to 1.1; give weights that sum to 1",
        ),
        (
            json!("hyperexponential(weights=[1],means=[0.1,5])"),
            "hyperexponential: weights = [1.0]: has 1 weights for 2 means; give a weight for each of means",
        ),
        (
            json!("hyperexponential(weights=[0.5,0.5],means=[0.1,0])"),
            "hyperexponential: means[1] = 0: is out of range; give numbers above 0 and at most 1e9 [s]",
        ),
        (
            json!("bounded_pareto(shape=1,low=2,high=2)"),
            "bounded_pareto: high = 2: is not above low; give a number above low, 2 [s]",
        ),
        (
            json!("uniform(low=2,high=1)"),
            "uniform: high = 1: is out of range; give a number from 2 to 1000000000 [s]",
        ),
        (
            json!("empirical(values=[0,2,1],cumulative=[0,0.5,1])"),
            "empirical: values[2] = 1: is out of range; give numbers in ascending order",
        ),
        (
            json!("empirical(values=[0,1],cumulative=[0,0.9])"),
            "empirical: cumulative = [0.0, 0.9]: goes from 0 to 0.9; give shares that go from 0 to 1",
        ),
        (
            json!("mixture(weights=[1],of=[exponential(mean=0)])"),
            "\"mixture(weights=[1],of=[exponential(mean=0)])\": \
             exponential: mean = 0: is out of range; give a number above 0 and at most 1000000000 [s]",
        ),
    ];
    for (description, expected) in cases {
        assert_eq!(error(description), expected.replace("FORMS", FORMS));
    }
}

#[test]
fn errors_of_the_notation_name_the_place() {
    let place = |text: &str| error(json!(text));
    assert!(
        place("exponential(20)").contains("'=' is expected") || place("exponential(20)").contains("named")
    );
    assert!(
        place("exponental(mean=2)").contains("unknown kind `exponental`, expected one of `deterministic`, ")
    );
    assert!(
        place("exponential(mean=2").contains("the text ends at character 19 where ',' or ')' is expected")
    );
    assert!(place("exponential(mean=2,mean=3)").contains("mean is given twice"));
    assert!(place("exponential(mean=2) x").contains("where the end is expected"));
    assert!(error(json!({"mean": 2})).contains("missing field `kind`"));
    assert!(error(json!(true)).contains("is not a distribution"));
    assert!(error(json!(-1)).starts_with("-1: is out of range; give a number from 0 to"));
    assert!(error(json!("nan")).contains("unknown kind `nan`"));
    assert!(error(json!("1e999")).contains("a number"));
    assert!(place(&"mixture(weights=[1],of=[".repeat(1000)).contains("nested deeper"));
}

#[test]
fn durations_in_short_forms_are_seconds() {
    for (text, same) in [
        ("uniform(low=500ms,high=3s)", "uniform(low=0.5,high=3)"),
        ("exponential(mean=2min,max=1h)", "exponential(mean=120,max=3600)"),
        ("mixture(weights=[0.5,0.5],of=[2s,20us])", "mixture(weights=[0.5,0.5],of=[2,2e-5])"),
        ("90s", "90"),
    ] {
        assert_eq!(law(text), law(same), "{text}");
    }
    assert!(error(json!("exponential(mean=2parsecs)")).contains("a duration"));
}

#[test]
fn a_description_may_be_expanded_without_its_meaning() {
    assert_eq!(expand("normal(mean=[1,2s])"), Ok(json!({"kind": "normal", "mean": [1, 2.0]})));
}

#[test]
fn descriptions_are_written_back_complete() {
    for text in DESCRIPTIONS.lines().chain(["deterministic(value=0.1)", "0.1"]) {
        let law = law(text);
        assert_eq!(Distribution::parse(&law.to_json()), Ok(law), "{text}");
    }
    assert_eq!(law("0.1").to_json(), json!({"kind": "deterministic", "value": 0.1}));
}

/// Any value, with the words that descriptions are made of.
fn any_value() -> impl Strategy<Value = Value> {
    let words =
        ["kind", "mean", "means", "weights", "of", "values", "shape", "mixture", "erlang", "empirical"];
    let word = prop::sample::select(words.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(|x| json!(x)),
        (-2i32..3).prop_map(Value::from),
        word.clone().prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone().prop_map(String::from), inner, 0..4)
                .prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #[test]
    fn reading_never_panics(value in any_value(), text in "[a-z_(),=\\[\\]0-9.eE+\\- é]{0,60}") {
        let _ = Distribution::parse(&value);
        let _ = Distribution::parse(&json!(text));
    }

    #[test]
    fn damaged_short_forms_never_panic(line in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), c in any::<char>()) {
        let descriptions: Vec<&str> = DESCRIPTIONS.lines().collect();
        let mut characters: Vec<char> = line.get(&descriptions).chars().collect();
        let at = at.index(characters.len());
        characters[at] = c;
        let damaged: String = characters.into_iter().collect();
        if let Ok(law) = Distribution::parse(&json!(damaged)) {
            prop_assert!(law.mean() >= 0.0);
        }
    }
}
