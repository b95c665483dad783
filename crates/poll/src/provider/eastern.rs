//! US Eastern time, which Postmark's filters use.

use pipeline::Timestamp;
use time::{Duration, Month, OffsetDateTime, PrimitiveDateTime, Time, Weekday};

/// A moment as `2026-11-15T05:30:00` in US Eastern time. One hour comes twice in
/// November, and the reader cannot know which of the two is meant. A moment in it is
/// written as the second before that hour, which skips nothing.
pub(super) fn eastern(moment: Timestamp) -> Option<String> {
    let utc = OffsetDateTime::from_unix_timestamp(moment.as_seconds()).ok()?;
    let local = utc + Duration::hours(if is_summer(utc)? { -4 } else { -5 });
    let autumn = first_sunday_of_november(utc.year())?;
    let comes_twice = local.date() == autumn.date() && local.hour() == 1;
    let local = if comes_twice {
        local.replace_time(Time::from_hms(0, 59, 59).ok()?)
    } else {
        local
    };
    let (date, time) = (local.date(), local.time());
    Some(format!(
        "{date}T{:02}:{:02}:{:02}",
        time.hour(),
        time.minute(),
        time.second()
    ))
}

/// Summer time runs from the second Sunday of March to the first of November,
/// at two o'clock each.
fn is_summer(utc: OffsetDateTime) -> Option<bool> {
    let march = sunday_from(utc.year(), Month::March, 8)?;
    let begins = march.assume_utc() + Duration::hours(7);
    let ends = first_sunday_of_november(utc.year())?.assume_utc() + Duration::hours(6);
    Some(begins <= utc && utc < ends)
}

fn first_sunday_of_november(year: i32) -> Option<PrimitiveDateTime> {
    sunday_from(year, Month::November, 1)
}

/// Midnight of the first Sunday from a day on.
fn sunday_from(year: i32, month: Month, day: u8) -> Option<PrimitiveDateTime> {
    let from = time::Date::from_calendar_date(year, month, day).ok()?;
    let ahead = match from.weekday() {
        Weekday::Sunday => 0,
        other => i64::from(7 - other.number_days_from_sunday()),
    };
    Some((from + Duration::days(ahead)).midnight())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> String {
        use time::format_description::well_known::Rfc3339;
        let moment = OffsetDateTime::parse(text, &Rfc3339).unwrap();
        eastern(Timestamp::from_millis(moment.unix_timestamp() * 1000)).unwrap()
    }

    #[test]
    fn eastern_time_is_utc_minus_5_in_winter_and_minus_4_in_summer() {
        assert_eq!(at("2026-11-15T05:30:00Z"), "2026-11-15T00:30:00");
        assert_eq!(at("2026-07-04T03:00:00Z"), "2026-07-03T23:00:00");
    }

    #[test]
    fn daylight_saving_changes_at_two_oclock() {
        assert_eq!(at("2026-03-08T06:59:59Z"), "2026-03-08T01:59:59");
        assert_eq!(at("2026-03-08T07:00:00Z"), "2026-03-08T03:00:00");
        assert_eq!(at("2026-11-01T04:59:00Z"), "2026-11-01T00:59:00");
        assert_eq!(at("2026-11-01T07:00:00Z"), "2026-11-01T02:00:00");
    }

    #[test]
    fn repeated_hour_is_written_as_the_second_before_it() {
        assert_eq!(at("2026-11-01T05:30:00Z"), "2026-11-01T00:59:59");
        assert_eq!(at("2026-11-01T06:30:00Z"), "2026-11-01T00:59:59");
    }
}
