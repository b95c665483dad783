//! Counts right, wrong, missed and false answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use extract::{Extracted, Policy};
use url::Url;

use super::Show;
use super::case::Case;
use super::tally::{Tally, UrlTally};
use crate::command::explain::allowlist;

/// What was expected, what the extractor returned, and its reason for nothing.
#[derive(Debug, Default)]
struct Answer {
    expected: Vec<String>,
    got: Option<String>,
    reason: Option<&'static str>,
}

/// One case whose answer differs from its label.
#[derive(Debug, serde::Serialize)]
pub(super) struct Deviation {
    pub(super) id: String,
    pub(super) what: &'static str,
    pub(super) outcome: &'static str,
    pub(super) expected: Vec<String>,
    pub(super) got: Option<String>,
    pub(super) reason: Option<&'static str>,
    #[serde(skip)]
    pub(super) show: Show,
}

/// The whole score.
#[derive(Debug, Default)]
pub(super) struct Score {
    pub(super) codes: Tally,
    pub(super) links: Tally,
    pub(super) urls: UrlTally,
    pub(super) codes_by_origin: BTreeMap<String, Tally>,
    pub(super) codes_by_language: BTreeMap<String, Tally>,
    pub(super) links_by_language: BTreeMap<String, Tally>,
    pub(super) english_mail: Tally,
    pub(super) milliseconds: Vec<f64>,
    pub(super) deviations: Vec<Deviation>,
}

impl Score {
    /// Runs one case.
    pub(super) fn add(&mut self, case: &Case, folder: &Path) -> Result<()> {
        if case.disputed.is_some() {
            return Ok(());
        }
        let policy = Policy {
            links: allowlist(&case.allowlist)?,
            ..Policy::default()
        };
        if let Some(url) = &case.url {
            self.add_url(case, url, &policy);
            return Ok(());
        }
        let raw = case.mail(folder)?;
        // The first call builds the lexicons; it must not count.
        if self.milliseconds.is_empty() {
            extract::extract(&raw, &policy).ok();
        }
        let start = Instant::now();
        let mail = extract::extract(&raw, &policy).ok();
        self.milliseconds
            .push(start.elapsed().as_secs_f64() * 1_000.0);
        self.add_code(case, mail.as_ref());
        self.add_link(case, mail.as_ref());
        Ok(())
    }

    fn add_code(&mut self, case: &Case, mail: Option<&Extracted>) {
        let got = mail
            .and_then(|mail| mail.code.found())
            .map(|code| code.value.clone());
        let outcome = match (&got, &case.expected_otp) {
            (Some(code), Some(_)) if case.accepts(code) => "correct",
            (Some(_), Some(_)) => "wrong",
            (None, Some(_)) => "missed",
            (Some(_), None) => "false",
            (None, None) => "none",
        };
        let expected = case.expected_otp.is_some();
        self.codes.count(expected, outcome);
        self.codes_by_origin
            .entry(case.origin.clone())
            .or_default()
            .count(expected, outcome);
        self.codes_by_language
            .entry(case.lang.clone())
            .or_default()
            .count(expected, outcome);
        if case.lang == "en" && case.channel == "email" {
            self.english_mail.count(expected, outcome);
        }
        let reason = mail
            .and_then(|mail| mail.code.reason())
            .map(extract::AbstainReason::as_str);
        let expected = case.expected_otp.clone().into_iter().collect();
        self.deviate(
            case,
            "code",
            outcome,
            Answer {
                expected,
                got,
                reason,
            },
        );
    }

    fn add_link(&mut self, case: &Case, mail: Option<&Extracted>) {
        let Some(labelled) = &case.expected_links else {
            return;
        };
        let normal = |link: &String| Url::parse(link).map_or_else(|_| link.clone(), String::from);
        let expected: Vec<String> = labelled.iter().map(normal).collect();
        let got = mail
            .and_then(|mail| mail.link.found())
            .map(|link| link.url.clone());
        let outcome = match &got {
            Some(link) if expected.contains(link) => "correct",
            Some(link)
                if case
                    .forbidden_links
                    .iter()
                    .map(normal)
                    .any(|forbidden| forbidden == *link) =>
            {
                "forbidden"
            }
            Some(_) if expected.is_empty() => "false",
            Some(_) => "wrong",
            None if expected.is_empty() => "none",
            None => "missed",
        };
        self.links.count(!expected.is_empty(), outcome);
        self.links_by_language
            .entry(case.lang.clone())
            .or_default()
            .count(!expected.is_empty(), outcome);
        let reason = mail
            .and_then(|mail| mail.link.reason())
            .map(extract::AbstainReason::as_str);
        self.deviate(
            case,
            "link",
            outcome,
            Answer {
                expected,
                got,
                reason,
            },
        );
    }

    fn add_url(&mut self, case: &Case, url: &str, policy: &Policy) {
        self.urls.rows += 1;
        let judged = extract::judge(url, &policy.links);
        let normal = |url: &str| Url::parse(url).map_or_else(|_| url.to_owned(), String::from);
        if case.must_reject {
            self.urls.must_reject += 1;
            self.urls.must_reject_accepted += u32::from(judged.is_ok());
            let outcome = if judged.is_ok() { "wrong" } else { "correct" };
            let got = Some(url.to_owned());
            self.deviate(
                case,
                "url",
                outcome,
                Answer {
                    got,
                    ..Answer::default()
                },
            );
        } else if let Some(target) = &case.unwrapped {
            self.urls.wrappers += 1;
            let decoded = extract::unwrap(url).map(|found| normal(&found));
            let right = decoded.as_deref() == Some(normal(target).as_str());
            self.urls.wrappers_decoded += u32::from(right);
            let outcome = if right { "correct" } else { "missed" };
            let expected = vec![target.clone()];
            self.deviate(
                case,
                "wrapper",
                outcome,
                Answer {
                    expected,
                    got: decoded,
                    reason: None,
                },
            );
        } else if url.starts_with("https://") && case.reason.is_none() {
            // Only https URLs can be good, and a tracker is no good target.
            self.urls.good += 1;
            self.urls.good_rejected += u32::from(judged.is_err());
            let outcome = if judged.is_err() { "missed" } else { "correct" };
            let expected = vec![url.to_owned()];
            self.deviate(
                case,
                "url",
                outcome,
                Answer {
                    expected,
                    ..Answer::default()
                },
            );
        }
    }

    fn deviate(&mut self, case: &Case, what: &'static str, outcome: &'static str, answer: Answer) {
        let show = match outcome {
            "wrong" | "forbidden" => Show::Wrong,
            "missed" => Show::Missed,
            "false" => Show::False,
            _ => return,
        };
        let id = if case.id.is_empty() {
            case.cls.clone()
        } else {
            case.id.clone()
        };
        self.deviations.push(Deviation {
            id,
            what,
            outcome,
            expected: answer.expected,
            got: answer.got,
            reason: answer.reason,
            show,
        });
    }
}
