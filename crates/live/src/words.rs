//! Numbers as the screen shows them: with their unit, and never more digits than are known at a glance.

/// Where the log has nothing.
pub(crate) const ABSENT: &str = "-";
/// Number from which digits are left out, so that every figure fits its column.
const WHOLE_MOST: f64 = 99_999.5;
/// Longest time with its number [s].
const LONGEST_S: f64 = 9999.0 * 86_400.0;

/// A share as a percentage: `0 %`, `3.2 %`, `142 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    // A thousand CPUs.
    if percent < WHOLE_MOST { format!("{} %", number(percent)) } else { ">99 k %".into() }
}

/// The same, or a dash.
pub(crate) fn percent_or_absent(share: Option<f64>) -> String {
    share.map_or(ABSENT.into(), percent)
}

/// A number: `0`, `3.2`, `142`, `120 k`.
pub(crate) fn number(number: f64) -> String {
    match number {
        0.0 => "0".into(),
        // Rounded first: 9.96 has two digits before the point.
        small if small < 9.95 => format!("{small:.1}"),
        large if large < WHOLE_MOST => format!("{large:.0}"),
        beyond => scaled(beyond, &["", "k", "M", "G", "T", "P", "E"]),
    }
}

/// A number of things that cannot be divided: `3`, `142`, `120 k`.
pub(crate) fn whole(things: f64) -> String {
    if things < WHOLE_MOST { format!("{things:.0}") } else { number(things) }
}

/// `amount` with the first of `units`, each a thousand times the one before it, of which there are less than a thousand.
fn scaled(amount: f64, units: &[&str]) -> String {
    let mut scaled = amount;
    let mut unit = 0;
    // 999.6 would be shown as 1000.
    while scaled >= 999.5 && unit + 1 < units.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    match scaled {
        // Nobody has as much, but a log may say so, and a longer figure would look like one with its neighbour.
        beyond if beyond >= 999.5 => format!(">999 {}", units[unit]),
        small if unit > 0 && small < 9.95 => format!("{small:.1} {}", units[unit]),
        large => format!("{large:.0} {}", units[unit]),
    }
}

/// A size in decimal units: `0 B`, `950 kB`, `3.1 GB`.
pub(crate) fn bytes(size: f64) -> String {
    scaled(size, &["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

/// A time: `85 µs`, `4.2 ms`, `0.42 s` would be `420 ms`, `12 s`, `5 min`, `3.5 h`, `2.1 d`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds > LONGEST_S {
        return ">9999 d".into();
    }
    let (scaled, unit) = match seconds {
        long if long >= 2.0 * 86_400.0 => (long / 86_400.0, "d"),
        long if long >= 2.0 * 3600.0 => (long / 3600.0, "h"),
        long if long >= 119.5 => (long / 60.0, "min"),
        middle if middle >= 0.9995 || middle <= 0.0 => (middle, "s"),
        short if short >= 0.999_5e-3 => (1e3 * short, "ms"),
        shorter => (1e6 * shorter, "µs"),
    };
    if scaled > 0.0 && scaled < 9.95 { format!("{scaled:.1} {unit}") } else { format!("{scaled:.0} {unit}") }
}

/// A number of things: `1 user`, `14 users`, `0 users`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let ending = match (number, noun) {
        (1, _) => "",
        (_, noun) if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{number} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_two_digits_or_none_behind_the_point() {
        let shown: Vec<String> = [0.0, 0.0004, 0.032, 0.0996, 0.43, 1.42, 63.9].map(percent).into();
        assert_eq!(shown, ["0 %", "0.0 %", "3.2 %", "10 %", "43 %", "142 %", "6390 %"]);
        assert_eq!(percent_or_absent(None), "-");
    }

    #[test]
    fn sizes_move_up_before_they_have_four_digits() {
        let shown: Vec<String> = [0.0, 999.0, 999.6, 950e3, 3.12e9, 9.96e9, 16e9, 2e22].map(bytes).into();
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "950 kB", "3.1 GB", "10 GB", "16 GB", ">999 EB"]);
    }

    #[test]
    fn durations_have_the_unit_that_people_say() {
        let shown: Vec<String> =
            [0.0, 85e-6, 4.2e-3, 0.42, 0.9996, 5.0, 42.0, 119.0, 300.0, 12_600.0, 259_200.0]
                .map(duration)
                .into();
        assert_eq!(
            shown,
            [
                "0 s", "85 µs", "4.2 ms", "420 ms", "1.0 s", "5.0 s", "42 s", "119 s", "5.0 min", "3.5 h",
                "3.0 d"
            ]
        );
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(
            [count(0, "user"), count(1, "user"), count(2, "process")],
            ["0 users", "1 user", "2 processes"]
        );
    }
}
