//! Scores the mails of the writers that no model was trained on, and writes `ACCURACY.md`.
//!
//! `cargo run --release -p extract --example accuracy -- crates/extract/ACCURACY.md
//! tests/fixtures/mail/hands/{19,20,21,22,23,24,40,60,66,68,70,71,72,73,74}.jsonl`

use std::collections::BTreeMap;
use std::fmt::Write as _;

use extract::{ExpectedCode, Policy, extract, folded};
use serde_json::Value;

/// The answers about one kind of artifact.
#[derive(Default, Clone)]
struct Tally {
    expected: u32,
    right: u32,
    wrong: u32,
    forbidden: u32,
}

impl Tally {
    fn count(&mut self, is_expected: bool, answer: Option<bool>) {
        self.expected += u32::from(is_expected);
        self.right += u32::from(answer == Some(true));
        self.wrong += u32::from(answer == Some(false));
    }

    fn row(&self) -> String {
        let given = self.right + self.wrong;
        let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole.max(1));
        let precision = share(self.right, given);
        let recall = share(self.right, self.expected);
        format!("{precision:.3} | {recall:.3} | {}", self.wrong)
    }
}

/// The thresholds that the page shows.
const THRESHOLDS: [u8; 7] = [0, 60, 80, 90, 95, 97, 99];

#[derive(Default)]
struct Report {
    mails: u32,
    codes: Tally,
    /// The same if each caller says which form of code it waits for.
    expected_codes: Tally,
    links: Tally,
    by_writer: BTreeMap<String, (Tally, Tally)>,
    by_language: BTreeMap<String, (u32, Tally)>,
    /// For each ten percent of confidence: codes given, and right ones.
    by_confidence: BTreeMap<u8, (u32, u32)>,
    /// For each threshold that an operator may set: codes and links.
    by_threshold: BTreeMap<u8, (Tally, Tally)>,
    /// The sum of the squared differences between confidence and truth.
    squares: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("the file to write is missing")?;
    let mut report = Report::default();
    for file in arguments {
        for line in std::fs::read_to_string(&file)?.lines() {
            report.add(&serde_json::from_str(line)?);
        }
    }
    std::fs::write(target, report.page()?)?;
    Ok(())
}

impl Report {
    fn add(&mut self, case: &Value) {
        let raw = text(case, "raw");
        let mail = extract(raw.as_bytes(), &Policy::default()).ok();
        let code = mail.as_ref().and_then(|mail| mail.code.found());
        let link = mail.as_ref().and_then(|mail| mail.link.found());
        let expected = case.get("expected_otp").and_then(Value::as_str);
        let accepted = expected.into_iter().chain(list(case, "accept"));
        let accepted: Vec<String> = accepted.map(compact).collect();
        let code_answer = code.map(|code| accepted.contains(&compact(&code.value)));
        let links: Vec<&str> = list(case, "expected_links").collect();
        let link_answer = link.map(|link| links.iter().any(|one| is_same_url(one, &link.url)));
        let is_forbidden = link.is_some_and(|link| {
            list(case, "forbidden_links").any(|one| is_same_url(one, &link.url))
        });
        self.mails += 1;
        let hinted = Policy {
            expected: Some(form(accepted.first())),
            ..Policy::default()
        };
        let hinted = extract(raw.as_bytes(), &hinted).ok();
        let hinted = hinted.as_ref().and_then(|mail| mail.code.found());
        let hinted = hinted.map(|code| accepted.contains(&compact(&code.value)));
        self.expected_codes.count(expected.is_some(), hinted);
        let (codes, links_of) = self.by_writer.entry(text(case, "origin")).or_default();
        for tally in [&mut self.codes, codes] {
            tally.count(expected.is_some(), code_answer);
        }
        for tally in [&mut self.links, links_of] {
            tally.count(!links.is_empty(), link_answer);
            tally.forbidden += u32::from(is_forbidden);
        }
        let (mails, tally) = self.by_language.entry(text(case, "lang")).or_default();
        *mails += 1;
        tally.count(expected.is_some(), code_answer);
        for threshold in THRESHOLDS {
            let (codes, links_of) = self.by_threshold.entry(threshold).or_default();
            let code = code.filter(|code| code.confidence >= threshold);
            codes.count(expected.is_some(), code.and(code_answer));
            let link = link.filter(|link| link.confidence >= threshold);
            links_of.count(!links.is_empty(), link.and(link_answer));
        }
        if let (Some(code), Some(is_right)) = (code, code_answer) {
            let (given, right) = self.by_confidence.entry(code.confidence / 10).or_default();
            *given += 1;
            *right += u32::from(is_right);
            let truth = f64::from(u8::from(is_right));
            self.squares += (f64::from(code.confidence) / 100.0 - truth).powi(2);
        }
    }

    fn page(&self) -> Result<String, std::fmt::Error> {
        let mut page = String::from(
            "# Accuracy on mail that nobody here tuned on\n\n\
             Written by `cargo run --release -p extract --example accuracy`; the head of that \
             file has the arguments. The mails are those of the writers in \
             [`tests/fixtures/mail/hands`](../../tests/fixtures/mail/hands/README.md) that no \
             model was trained on. Precision: right answers among all answers. Recall: right \
             answers among the mails that have one. Any spelling of a wrong answer counts \
             against both. \"Codes of a known form\": the caller says how many digits, letters or \
             characters the code has, and for a mail without a code that it has six digits.\n\n",
        );
        writeln!(page, "| | mails | precision | recall | wrong |")?;
        writeln!(page, "|---|---:|---:|---:|---:|")?;
        writeln!(page, "| codes | {} | {} |", self.mails, self.codes.row())?;
        let with_form = self.expected_codes.row();
        writeln!(
            page,
            "| codes of a known form | {} | {with_form} |",
            self.mails
        )?;
        writeln!(page, "| links | {} | {} |", self.mails, self.links.row())?;
        let forbidden = self.links.forbidden;
        writeln!(
            page,
            "\nForbidden links returned: {forbidden}.\n\n## By writer\n"
        )?;
        writeln!(
            page,
            "| writer | codes: precision | recall | wrong | links: precision | recall | wrong |"
        )?;
        writeln!(page, "|---|---:|---:|---:|---:|---:|---:|")?;
        for (writer, (codes, links)) in &self.by_writer {
            writeln!(page, "| {writer} | {} | {} |", codes.row(), links.row())?;
        }
        writeln!(
            page,
            "\n## Codes by language\n\n| language | mails | precision | recall | wrong |"
        )?;
        writeln!(page, "|---|---:|---:|---:|---:|")?;
        for (language, (mails, tally)) in &self.by_language {
            writeln!(page, "| {language} | {mails} | {} |", tally.row())?;
        }
        self.thresholds(&mut page)?;
        let given = f64::from((self.codes.right + self.codes.wrong).max(1));
        writeln!(page, "\n## Is the confidence right?\n")?;
        writeln!(
            page,
            "Brier score of the codes that were given: {:.3}.\n",
            self.squares / given
        )?;
        writeln!(
            page,
            "| confidence | codes given | right |\n|---|---:|---:|"
        )?;
        for (tenth, (given, right)) in &self.by_confidence {
            let share = f64::from(*right) / f64::from((*given).max(1));
            writeln!(page, "| {tenth}0 to {tenth}9 % | {given} | {share:.3} |")?;
        }
        Ok(page)
    }

    fn thresholds(&self, page: &mut String) -> std::fmt::Result {
        writeln!(
            page,
            "\n## By threshold\n\nWhat is left when `extract.threshold` withholds codes and \
             links with less confidence.\n\n\
             | threshold | codes: precision | recall | wrong | links: precision | recall | wrong |"
        )?;
        writeln!(page, "|---|---:|---:|---:|---:|---:|---:|")?;
        for (threshold, (codes, links)) in &self.by_threshold {
            writeln!(
                page,
                "| {threshold} % | {} | {} |",
                codes.row(),
                links.row()
            )?;
        }
        Ok(())
    }
}

fn text(case: &Value, field: &str) -> String {
    let value = case.get(field).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

fn list<'c>(case: &'c Value, field: &str) -> impl Iterator<Item = &'c str> {
    let values = case.get(field).and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str)
}

fn compact(code: &str) -> String {
    let kept = folded(code);
    kept.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

/// What a caller would say about the code of this mail. A mail without one is met by callers
/// that wait for six digits.
fn form(code: Option<&String>) -> ExpectedCode {
    let Some(code) = code else {
        return ExpectedCode::Digits(6);
    };
    let length = u8::try_from(code.chars().count()).unwrap_or(u8::MAX);
    if code.chars().all(|c| c.is_ascii_digit()) {
        ExpectedCode::Digits(length)
    } else if code.chars().all(char::is_alphabetic) {
        ExpectedCode::Letters(length)
    } else {
        ExpectedCode::Characters(length)
    }
}

fn is_same_url(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}
