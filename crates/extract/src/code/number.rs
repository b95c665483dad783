//! Numbers that are no codes: dates, times, amounts, IP addresses.

/// Several numbers joined by one character: a date, a time, an amount, a version.
/// Dashes and single dots also occur in codes, so `shape` judges those.
pub(super) fn is_composite(core: &str) -> bool {
    is_joined(core, ':', 1..=2) || is_joined(core, '/', 1..=4) || is_amount(core) || is_dotted(core)
}

fn is_joined(core: &str, sign: char, lengths: std::ops::RangeInclusive<usize>) -> bool {
    core.contains(sign)
        && core
            .split(sign)
            .all(|part| lengths.contains(&part.len()) && is_digits(part))
}

/// `1,234` `1,234.56` `12,50` `1.234,56`.
fn is_amount(core: &str) -> bool {
    let is_of = |sign: char, point: char| {
        let (whole, fraction) = core.rsplit_once(point).unwrap_or((core, ""));
        whole.contains(sign)
            && is_digits(fraction) | fraction.is_empty()
            && whole
                .split(sign)
                .all(|group| is_digits(group) && group.len() <= 3)
    };
    is_of(',', '.') || core.contains(',') && is_of('.', ',')
}

/// `198.51.100.23` `14.03.2026` `1.2.3`, and `4821.50`.
fn is_dotted(core: &str) -> bool {
    let dots = core.bytes().filter(|byte| *byte == b'.').count();
    let numeric = core.split('.').all(is_digits);
    let decimal = core
        .rsplit_once('.')
        .is_some_and(|(_, fraction)| fraction.len() <= 2);
    dots > 0 && numeric && (dots > 1 || decimal)
}

/// `4.8.1.5.5.2`: five to ten digits with dots between them.
pub(super) fn is_dotted_digits(core: &str) -> bool {
    let digits = || core.split('.');
    (5..=10).contains(&digits().count())
        && digits().all(|digit| digit.len() == 1 && is_digits(digit))
}

/// `2026-03-14`, `14-03-2026`, `2019-2020`.
pub(super) fn is_dashed_date(core: &str) -> bool {
    let parts: Vec<&str> = core.split('-').collect();
    match parts.as_slice() {
        [year, month, day] | [day, month, year] if is_year(year) => {
            is_short(month) && is_short(day)
        }
        [from, to] => is_year(from) && (is_year(to) || is_short(to) && is_month_or_next(from, to)),
        _ => false,
    }
}

/// Groups of digits as in phone and account numbers. Few digits are no phone number.
pub(super) fn is_dashed_phone(core: &str) -> bool {
    let lengths: Vec<usize> = core.split('-').map(str::len).collect();
    let total: usize = lengths.iter().sum();
    core.split('-').all(is_digits)
        && total > 6
        && !lengths.iter().all(|length| *length == 1)
        && !matches!(
            lengths.as_slice(),
            [4, 4] | [3, 3, 1..=3] | [5, 5] | [3, 2, 2] | [4, 4, 2]
        )
        && !is_pairs(&lengths)
        || total > 10
}

/// Seven or eight digits in groups, as in a phone number of a town or in a code.
pub(super) fn is_dashed_number(core: &str) -> bool {
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let mut groups = core.split('-');
    (7..=8).contains(&digits)
        && groups.all(|group| (2..=5).contains(&group.len()) && is_digits(group))
        && !is_dashed_date(core)
}

/// `64-93-08-17`, and with one digit at the end.
fn is_pairs(lengths: &[usize]) -> bool {
    let (last, pairs) = lengths.split_last().unwrap_or((&0, &[]));
    pairs.len() > 2 && *last <= 2 && pairs.iter().all(|length| *length == 2)
}

/// `2026-03` and `2025-26`, but not `2580-46`.
fn is_month_or_next(year: &str, part: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().unwrap_or_default();
    number(part) <= 12 || number(part) == (number(year) + 1) % 100
}

fn is_short(part: &str) -> bool {
    (1..=2).contains(&part.len()) && is_digits(part)
}

pub(super) fn is_year(part: &str) -> bool {
    part.len() == 4 && is_digits(part) && ("1900".."2100").contains(&part)
        || matches!(part.get(..2), Some("25")) && part.len() == 4 && is_digits(part)
}

/// `20260314`.
pub(super) fn is_compact_date(digits: &str) -> bool {
    let part = |range: std::ops::Range<usize>| {
        digits
            .get(range)
            .and_then(|part| part.parse::<u32>().ok())
            .unwrap_or(0)
    };
    let month_day = |month: u32, day: u32| (1..=12).contains(&month) && (1..=31).contains(&day);
    digits.len() == 8 && ((1990..=2050).contains(&part(0..4)) && month_day(part(4..6), part(6..8)))
}

pub(super) fn is_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_times_and_amounts_are_composite() {
        for core in [
            "10:30",
            "08:21:37",
            "14/03/2026",
            "24/7",
            "4,821.50",
            "4.821,50",
            "1,234",
            "198.51.100.23",
            "4821.50",
            "1.2.3",
            "1.2.3.4",
        ] {
            assert!(is_composite(core), "{core}");
        }
        for core in [
            "123456",
            "482.913",
            "123-456",
            "code:123456",
            "a.b",
            "1234:5678",
        ] {
            assert!(!is_composite(core), "{core}");
        }
    }

    #[test]
    fn dashed_dates_and_phone_numbers_are_not_codes() {
        assert!(
            is_dashed_date("2026-03-14")
                && is_dashed_date("14-03-2026")
                && is_dashed_date("2019-2020")
        );
        assert!(
            is_dashed_phone("555-123-4567")
                && is_dashed_phone("0120-123-456")
                && is_dashed_phone("555-1234")
        );
        for code in ["123-456", "1234-5678", "12-34-56"] {
            assert!(!is_dashed_date(code) && !is_dashed_phone(code), "{code}");
        }
        assert!(is_dotted_digits("4.8.1.5.5.2") && !is_dotted_digits("1.2.3.4"));
        assert!(is_dashed_number("604-7718") && is_dashed_number("55-901-336"));
        assert!(!is_dashed_number("2026-03-14") && !is_dashed_number("555-123-4567"));
    }
}
