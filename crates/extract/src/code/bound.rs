//! Codes bound to a host by a line `@example.com #123456`.
//!
//! Such a line states the code exactly, so it overrides all other evidence. Its host
//! must be in the allowlist, like the host of a link.

use crate::lines;
use crate::reading::Reading;
use crate::steps::Steps;

/// A code and the host it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) host: String,
    pub(super) value: String,
    pub(super) at: usize,
}

/// The bound code of a reading; `None` if there are two different ones. One that a stranger
/// gives to machines is none.
pub(super) fn bound(reading: &Reading, steps: &Steps<'_>) -> Option<Bound> {
    let text = reading.text();
    let mut found: Option<Bound> = None;
    let mut at = 0;
    for line in lines::with_ends(text) {
        let found_here = parse(line.trim_end(), at);
        let is_for_people = |bound: &Bound| {
            let machines = reading.machines(steps);
            // A mail may have thousands of such lines and of such ranges.
            steps.charge(machines.len())
                && !reading.is_unclear(bound.at)
                && !machines.iter().any(|range| range.contains(&bound.at))
        };
        if let Some(bound) = found_here.filter(is_for_people) {
            if found
                .as_ref()
                .is_some_and(|other| other.value != bound.value)
            {
                return None;
            }
            found = Some(bound);
        }
        at += line.len();
    }
    found
}

fn parse(line: &str, at: usize) -> Option<Bound> {
    let (host, rest) = line.trim_start().strip_prefix('@')?.split_once(' ')?;
    let value = rest.strip_prefix('#')?.split(' ').next()?;
    let is_host = host.contains('.')
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let is_code = (4..=12).contains(&value.len())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && value.bytes().any(|byte| byte.is_ascii_digit());
    let offset = line.find('#')? + 1;
    (is_host && is_code).then(|| Bound {
        host: host.to_ascii_lowercase(),
        value: value.to_owned(),
        at: at + offset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::TextSource;

    fn of(text: &str) -> Option<(String, String)> {
        let steps = Steps::for_size(0);
        let mut reading = Reading::of_text(text, 1_000, &steps);
        reading.source = TextSource::Text;
        bound(&reading, &steps).map(|bound| (bound.host, bound.value))
    }

    #[test]
    fn bound_line_gives_host_and_code() {
        let expected = Some(("acme.example".to_owned(), "747723".to_owned()));
        assert_eq!(
            of("747723 is your code.\n\n@acme.example #747723"),
            expected
        );
        assert_eq!(of("x\n@ACME.example #747723 @frame.example\n"), expected);
    }

    #[test]
    fn two_bound_lines_or_prose_give_none() {
        assert_eq!(of("@a.example #747723\n@a.example #111111"), None);
        assert_eq!(of("mail @acme.example #747723"), None);
        assert_eq!(of("@acme.example #ignore"), None);
    }
}
