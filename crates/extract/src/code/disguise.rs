//! Codes that look like something else: a number with signs, a version, a host, a path.
//!
//! Most of what looks like that is what it looks like. So these are candidates only where the
//! text hands them to the reader. Everyday amounts, dates, times and phone numbers are none:
//! mails about passwords and payments are full of them, in the same places as codes.

use std::ops::{Range, RangeInclusive};

use super::apart::is_set_apart_whole;
use super::asked::{is_asked_for, is_presented};
use super::context::Context;
use super::number::{is_digits, is_year};
use super::shape::Shape;
use crate::lexicon::{Hit, Languages, concept_hits};
use crate::steps::Steps;
use crate::words::{WordLimit, are_things, has_order, has_word, reads_as_words};

/// Steps charged for what is around a token.
const STEPS: usize = 200;
/// How many groups such a code has, and how many letters and digits.
const GROUPS: RangeInclusive<usize> = 2..=6;
const LENGTHS: RangeInclusive<usize> = 4..=10;
/// The most letters and digits of codes that have both, and the most letters: few say little.
const LONGEST_MIXED: usize = 12;
const MOST_LETTERS: usize = 8;
/// Words and commands of few letters.
const SHORT_WORDS: [&str; 36] = [
    "at", "btc", "by", "cat", "cmd", "db", "dd", "del", "do", "eth", "exec", "for", "go", "hi",
    "in", "is", "it", "me", "my", "no", "of", "off", "ok", "on", "or", "rf", "rm", "sh", "su",
    "sudo", "to", "up", "us", "usd", "we", "you",
];

/// The shape of a token that looks like something else.
pub(super) fn disguised(core: &str) -> Option<Shape> {
    let length = core.bytes().filter(u8::is_ascii_alphanumeric).count();
    // Nearly every token ends here.
    if length < *LENGTHS.start() || length == core.len() {
        return None;
    }
    let has_letter = core.bytes().any(|byte| byte.is_ascii_alphabetic());
    if has_letter {
        let is_code = is_grouped(core) || is_prefixed(core) || is_short(core);
        return (length <= LONGEST_MIXED && is_code).then_some(Shape::Dashed);
    }
    let is_number =
        LENGTHS.contains(&length) && is_number(core) && !is_everyday(core) && !is_plain_date(core);
    is_number.then_some(Shape::Grouped)
}

/// Whether the text gives such a token to the reader as a code.
pub(super) fn is_handed_over(core: &str, range: &Range<usize>, context: &Context<'_>) -> bool {
    context.steps.charge(STEPS)
        && (is_set_apart_whole(context.text(), range) || is_presented(range, context))
        && is_asked_for(range, context)
        && !is_request(core, context.steps)
}

/// Whether the letters of such a code may ask for something: `pay.me.now.5`, `GO/RM/DB7`,
/// `KILL-ALL`. A stranger may choose it, and it reaches an agent.
fn is_request(core: &str, steps: &Steps<'_>) -> bool {
    const SHORTEST: usize = 3;
    let is_sign = |c: char| !c.is_ascii_alphanumeric();
    let runs = || core.split(|c: char| !c.is_ascii_alphabetic());
    if runs().all(|run| run.len() < 2) {
        // `K-I-L-L`
        let letters: String = runs().collect();
        return letters.len() >= SHORTEST && (has_word(&letters) || says_more(&letters, steps));
    }
    let words: Vec<&str> = runs().filter(|run| run.len() >= SHORTEST).collect();
    let is_word =
        |group: &str| group.len() > 1 && group.bytes().all(|byte| byte.is_ascii_alphabetic());
    let groups: Vec<&str> = core.split(is_sign).collect();
    // Few letters can be a command, such as `rm.rf`, so two groups of them are side by side
    // only where they are words for things, or no words: `HQZ-TB`.
    let are_beside = groups
        .windows(2)
        .any(|pair| pair.iter().all(|group| is_word(group)));
    let is_short_word = |group: &&str| {
        let group = group.to_ascii_lowercase();
        SHORT_WORDS.contains(&group.as_str())
    };
    let may_command = || {
        core.contains(['.', '/', '_'])
            || groups.iter().all(|group| group.len() == 2)
            || groups.iter().any(is_short_word)
            || has_word(core)
    };
    let may_ask = || {
        are_beside && may_command()
            || has_order(core)
            || reads_as_words(core, WordLimit::Phrase)
            || says_more(&words.join(" "), steps)
    };
    !are_things(core) && may_ask()
}

/// Whether a word says more than a thing in any language.
fn says_more(words: &str, steps: &Steps<'_>) -> bool {
    let hits = concept_hits(&words.to_ascii_lowercase(), Languages::ALL, steps);
    hits.iter().any(Hit::says_more_than_a_thing)
}

/// `7/K/31/Q`, `9WK/R4T`: a word with slashes that is no path. Single characters are spelled out.
pub(super) fn is_slashed(word: &str) -> bool {
    let groups = || word.split('/');
    let length = word.bytes().filter(u8::is_ascii_alphanumeric).count();
    let is_group = |group: &str| group.len() <= 3 && is_group(group);
    (2..=5).contains(&groups().count())
        && LENGTHS.contains(&length)
        && groups().any(|group| group.len() > 1)
        && groups().all(is_group)
        && has_both(word)
        && !word.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// What is nearly always an amount, a date, a time, a phone number or a postcode.
fn is_everyday(core: &str) -> bool {
    let groups: Vec<usize> = core
        .split(|c: char| !c.is_ascii_digit())
        .map(str::len)
        .collect();
    match groups.as_slice() {
        // `24.99` `14/07` `11:42` `1974-06` `12.480`, `420-6613` `99871-4420`,
        // `14.07.26` `14/02/61`, `1,250,000`
        [_, 2 | 3] | [3 | 5, 4] | [1 | 2, 1 | 2, 1 | 2] | [1..=3, 3, 3] => true,
        // `8.145,02`
        [1..=3, 3, 2] => {
            let mut signs = core.bytes().filter(u8::is_ascii_punctuation);
            signs.next() != signs.next()
        }
        _ => false,
    }
}

/// `3/14/7/29` `8163-5520-7` `601.774.20`.
fn is_number(core: &str) -> bool {
    let is_sign = |c: char| matches!(c, '.' | ',' | ':' | '/' | '-');
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let is_fraction = core.split('/').count() == 2 && !core.split('/').all(|part| part.len() == 2);
    let is_phone = core.contains('-') && digits == *LENGTHS.end();
    GROUPS.contains(&core.split(is_sign).count())
        && !is_fraction
        && !is_phone
        && core
            .split(is_sign)
            .all(|group| group.len() <= 5 && is_digits(group))
        && !is_address(core)
}

/// A date of these years, with its century.
fn is_plain_date(core: &str) -> bool {
    core.split(['.', '/', '-'])
        .any(|group| is_year(group) && group > "2014")
}

/// `198.51.100.23`.
fn is_address(core: &str) -> bool {
    core.split('.').count() == 4 && core.split('.').all(|group| group.parse::<u8>().is_ok())
}

/// `k.9.v.2.h` `LL/20/PX` `DD8.QF3.0M` `dl_93fa7c`: short groups of letters and digits with one
/// sign between them. Names of hosts and files end with letters, versions begin with a `v`.
fn is_grouped(core: &str) -> bool {
    let Some(sign) = core.chars().find(|c| !c.is_ascii_alphanumeric()) else {
        return false;
    };
    let groups = || core.split(sign);
    let last = groups().next_back().unwrap_or_default();
    let (most, fewest) = match sign {
        '.' => (5, 2),
        '/' if groups().count() > 2 => (4, 3),
        '/' => (3, 2),
        '_' if has_both(last) => (8, 2),
        _ => return false,
    };
    // `RM600.00`, `40.000d`
    let bare = core.trim_matches(|c: char| c.is_ascii_alphabetic());
    let is_amount = is_number(bare) && bare.len() < core.len();
    let is_capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    let are_capitals = groups().all(|group| group.len() <= 3 && group.bytes().all(is_capital));
    let ends_as_name =
        last.len() > 1 && last.bytes().all(|byte| byte.is_ascii_alphabetic()) && !are_capitals;
    let is_version =
        core.starts_with(['v', 'V']) && core.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    let letters = core.bytes().filter(u8::is_ascii_alphabetic).count();
    letters <= MOST_LETTERS
        && (fewest..=*GROUPS.end()).contains(&groups().count())
        && groups().all(|group| group.len() <= most && is_group(group) && !is_year(group))
        && has_both(core)
        && !is_amount
        && !(sign == '.' && (ends_as_name || is_version))
}

/// `FERN-6` `C-214`: letters of one case, and a number with fewer digits than elsewhere.
fn is_prefixed(core: &str) -> bool {
    core.split_once('-').is_some_and(|(letters, number)| {
        let is_of = |is: fn(&u8) -> bool| letters.bytes().all(|byte| is(&byte));
        (1..=8).contains(&letters.len())
            && (is_of(u8::is_ascii_uppercase) || is_of(u8::is_ascii_lowercase))
            && is_digits(number)
            && number.len() <= 3
    })
}

/// `HQZ-TB` `C-E-G-B-A` `q.w.h.z`: few capitals in two groups, or single letters.
fn is_short(core: &str) -> bool {
    let is_letter =
        |group: &str| group.len() == 1 && group.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_spelled = |sign: char| core.split(sign).count() > 3 && core.split(sign).all(is_letter);
    let is_group = |group: &str| {
        (2..=4).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    is_spelled('-')
        || is_spelled('.')
        || core
            .split_once('-')
            .is_some_and(|(first, last)| is_group(first) && is_group(last))
}

fn is_group(group: &str) -> bool {
    !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn has_both(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODES: [&str; 15] = [
        "k.9.v.2.h",
        "DD8.QF3.0M",
        "4K7.P2M",
        "FX.0093.T",
        "BV.71.KQ",
        "31.D.31.F",
        "LL/20/PX",
        "7/K/31/Q",
        "9WK/R4T",
        "dl_93fa7c",
        "FERN-6",
        "C-214",
        "HQZ-TB",
        "C-E-G-B-A",
        "q.w.h.z",
    ];

    #[test]
    fn codes_that_look_like_something_else_have_a_shape() {
        for core in ["3/14/7/29", "8163-5520-7", "601.774.20"] {
            assert_eq!(disguised(core), Some(Shape::Grouped), "{core}");
        }
        for core in CODES {
            assert_eq!(disguised(core), Some(Shape::Dashed), "{core}");
        }
    }

    #[test]
    fn codes_that_say_nothing_are_no_request() {
        let others = ["99p-45p", "BX-7702-E", "TIGER-LAMP"];
        for core in CODES.into_iter().chain(others) {
            assert!(!is_request(core, &Steps::for_size(0)), "{core}");
        }
    }

    #[test]
    fn amounts_dates_times_phone_numbers_hosts_files_and_names_have_none() {
        for core in [
            "24.99",
            "17,250.06",
            "8.145,02",
            "12.480",
            "11:42",
            "14/07",
            "14.07.26",
            "420-6613",
            "99871-4420",
            "1974-06",
            "482913",
            "12.5",
            "198.51.100.23",
            "2026-03-14",
            "14.11.2026",
            "11/14/2026",
            "2026-11",
            "082-541-0506",
            "5/118",
            "v2.4.1",
            "a1.com",
            "report2.pdf",
            "RM600.00",
            "40.000d",
            "pay.them.now.5",
            "wojtas_1987",
            "R/2026/114",
            "e.g",
            "and/or",
        ] {
            assert_eq!(disguised(core), None, "{core}");
        }
    }
}
