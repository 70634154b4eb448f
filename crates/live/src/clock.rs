//! Instants in the reader's zone, in and out.

/// A time on the calendar of the reader's zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) year: i32,
    pub(crate) month: i32,
    pub(crate) day: i32,
    pub(crate) hour: i32,
    pub(crate) minute: i32,
    pub(crate) second: i32,
}

impl Local {
    /// The local time of `time_us` [µs since 1970-01-01 UTC]; `None` beyond the calendar.
    pub(crate) fn of(time_us: i64) -> Option<Local> {
        let seconds: libc::time_t = time_us.div_euclid(1_000_000);
        // SAFETY: all-zero is a valid tm; both pointers are to live locals, and localtime_r writes the second alone.
        let fields = unsafe {
            let mut fields: libc::tm = std::mem::zeroed();
            if libc::localtime_r(&raw const seconds, &raw mut fields).is_null() {
                return None;
            }
            fields
        };
        Some(Local {
            year: fields.tm_year.checked_add(1900)?,
            month: fields.tm_mon + 1,
            day: fields.tm_mday,
            hour: fields.tm_hour,
            minute: fields.tm_min,
            second: fields.tm_sec,
        })
    }

    /// The instant [µs since 1970-01-01 UTC]; `None` if the calendar has no such time.
    pub(crate) fn instant_us(self) -> Option<i64> {
        // SAFETY: all-zero is a valid tm; the pointer is to a live local.
        let seconds = unsafe {
            let mut fields: libc::tm = std::mem::zeroed();
            fields.tm_year = self.year.checked_sub(1900)?;
            fields.tm_mon = self.month - 1;
            fields.tm_mday = self.day;
            fields.tm_hour = self.hour;
            fields.tm_min = self.minute;
            fields.tm_sec = self.second;
            // Whether it is summer time, the C library knows.
            fields.tm_isdst = -1;
            libc::mktime(&raw mut fields)
        };
        let instant_us = seconds.checked_mul(1_000_000)?;
        // The 30th of February would become a day in March.
        (Local::of(instant_us).is_some_and(|back| (back.month, back.day) == (self.month, self.day)))
            .then_some(instant_us)
    }
}

/// Times that can be given.
pub(crate) const TIMES: &str = "give a time such as 14:30, 2026-11-24 14:30, +5m or -1h";
/// Length of a time as it is shown, in the years that have four digits.
const SHOWN_BYTES: usize = "2026-11-24 13:45:10".len();

/// `2026-11-24 13:45:10`, in the reader's zone.
pub(crate) fn shown(time_us: i64) -> String {
    let Some(at) = Local::of(time_us) else { return "-".into() };
    format!("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", at.year, at.month, at.day, at.hour, at.minute, at.second)
}

/// The two ends of a time as short as they can be told apart: by the time of day, or with the day.
pub(crate) fn ends(first_us: i64, last_us: i64) -> [String; 2] {
    let [first, last] = [first_us, last_us].map(shown);
    if first.len() != SHOWN_BYTES || last.len() != SHOWN_BYTES {
        return ["-", "-"].map(str::to_owned);
    }
    let part = if first[..10] == last[..10] { 11..19 } else { 5..16 };
    [first, last].map(|text| text[part.clone()].to_owned())
}

/// The instant that `text` names: a time of day on the day of `now_us`, a date with or without a time, or a distance
/// from `now_us` such as `+5m` and `-1h`.
pub(crate) fn parsed(text: &str, now_us: i64) -> Option<i64> {
    let text = text.trim();
    if let Some(distance) = text.strip_prefix(['+', '-']) {
        let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
        let number_end = distance.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(distance.len());
        let number: f64 = distance[..number_end].parse().ok()?;
        let unit_s = match distance[number_end..].trim() {
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        return Some(now_us.saturating_add((sign * number * unit_s * 1e6) as i64));
    }
    let today = Local::of(now_us)?;
    let (date, time) = match text.split_once([' ', 'T']) {
        Some((date, time)) => (Some(date), Some(time)),
        None if text.contains(':') => (None, Some(text)),
        None => (Some(text), None),
    };
    let [year, month, day] = match date {
        None => [today.year, today.month, today.day],
        Some(date) => numbers(date, '-', 3)?,
    };
    let [hour, minute, second] = match time {
        None => [0; 3],
        Some(time) => numbers(time, ':', 2)?,
    };
    let fits = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..61).contains(&second);
    fits.then_some(Local { year, month, day, hour, minute, second })?.instant_us()
}

/// Three numbers with `separator` between them; zeros for those beyond the first `least`.
fn numbers(text: &str, separator: char, least: usize) -> Option<[i32; 3]> {
    let parts: Vec<&str> = text.trim().split(separator).collect();
    if !(least..=3).contains(&parts.len()) {
        return None;
    }
    let mut found = [0; 3];
    for (place, part) in found.iter_mut().zip(parts) {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        *place = is_number.then(|| part.parse().ok()).flatten()?;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-03-05 13:45:10 in the zone of the test, whatever that is.
    fn now_us() -> i64 {
        Local { year: 2026, month: 3, day: 5, hour: 13, minute: 45, second: 10 }.instant_us().unwrap()
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        assert_eq!(shown(now_us()), "2026-03-05 13:45:10");
        assert_eq!(parsed("2026-03-05 13:45:10", 0), Some(now_us()));
    }

    #[test]
    fn ends_on_different_days_have_their_day() {
        let minute_us = 60_000_000;
        assert_eq!(ends(now_us(), now_us() + minute_us), ["13:45:10", "13:46:10"]);
        assert_eq!(ends(now_us(), now_us() + 24 * 60 * minute_us), ["03-05 13:45", "03-06 13:45"]);
        assert_eq!(ends(now_us(), i64::MAX)[1], "-");
    }

    #[test]
    fn a_time_of_day_is_of_the_day_on_the_screen() {
        assert_eq!(parsed("14:00", now_us()).map(shown).as_deref(), Some("2026-03-05 14:00:00"));
        assert_eq!(parsed("09:30:15", now_us()).map(shown).as_deref(), Some("2026-03-05 09:30:15"));
        assert_eq!(parsed("2025-12-31", now_us()).map(shown).as_deref(), Some("2025-12-31 00:00:00"));
    }

    #[test]
    fn distances_go_both_ways() {
        assert_eq!(parsed("+5m", 7), Some(300_000_007));
        assert_eq!(parsed("-1.5h", 0), Some(-5_400_000_000));
        assert_eq!(parsed("-2d", 0), Some(-172_800_000_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "noon",
            "25:00",
            "12",
            "12:60",
            "2026-02-30",
            "2026-13-01",
            "+5",
            "+m",
            "1:2:3:4",
            "-1:00",
            "99999999999999-01-01",
        ] {
            assert_eq!(parsed(text, now_us()), None, "{text}");
        }
    }
}
