//! One mail, decided once under the rules of the operator and once under those of each
//! inbox and attempt that waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use extract::{
    Allowlist, Decision, ExpectedCode, Extraction, FromAddress, Identity, Policy, ReplyHeaders,
};
use pipeline::{CodeForm, Expectation, OpenAttempt, Reason};

use crate::failure::Failure;
use crate::parser_threads::{Parsed, ParsedMail, ParserThreads};
use crate::settings::Settings;

/// What decides which values of a mail are given out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Terms {
    /// The hosts that links may lead to; `None` is the operator's own list.
    links: Option<Vec<String>>,
    /// The form of the code, if the agent of an attempt knows it.
    form: Option<CodeForm>,
}

impl Terms {
    pub(crate) fn of_inbox(expected: &Expectation) -> Self {
        Self {
            links: expected.rules.links.clone(),
            form: None,
        }
    }

    pub(crate) fn of_attempt(expected: &Expectation, attempt: &OpenAttempt) -> Self {
        Self {
            links: expected.links_of(attempt),
            form: attempt.rules.expected,
        }
    }
}

/// A mail that was parsed once, with one decision for each set of terms.
pub(crate) struct Decisions {
    pub(crate) identity: Identity,
    pub(crate) sender: FromAddress,
    pub(crate) reply: ReplyHeaders,
    by_terms: BTreeMap<Terms, Decision>,
    /// The decision for terms that `of` was not given: everything is withheld.
    closed: Decision,
}

impl Decisions {
    /// Parses a mail and decides it under each set of terms.
    pub(crate) async fn of(
        threads: &ParserThreads,
        settings: &Settings,
        raw: Arc<Vec<u8>>,
        terms: BTreeSet<Terms>,
    ) -> Result<Self, Failure> {
        let policies = terms
            .iter()
            .map(|terms| policy(terms, &settings.policy))
            .collect();
        let parsed = threads.parse(raw, policies, settings.parse_budget).await;
        let ParsedMail {
            identity,
            sender,
            reply,
            decisions,
        } = *mail(parsed)?;
        let nothing = extract::AbstainReason::HostNotAllowed;
        Ok(Self {
            identity,
            sender,
            reply,
            by_terms: terms.into_iter().zip(decisions).collect(),
            closed: Decision {
                flags: Vec::new(),
                code: Extraction::Withheld(nothing),
                link: Extraction::Withheld(nothing),
                refused_host: None,
            },
        })
    }

    /// What the mail holds under these terms.
    pub(crate) fn under(&self, terms: &Terms) -> &Decision {
        self.by_terms.get(terms).unwrap_or(&self.closed)
    }
}

/// Lists are checked when they are set. If this version refuses a list that an earlier
/// one accepted, the operator's own list replaces it.
fn policy(terms: &Terms, operators: &Policy) -> Policy {
    let links = terms
        .links
        .as_ref()
        .and_then(|list| Allowlist::parse(list).ok());
    Policy {
        links: links.unwrap_or_else(|| operators.links.clone()),
        threshold: operators.threshold,
        expected: terms.form.map(expected_code),
    }
}

/// The extractor's word for the form of a code.
pub fn expected_code(form: CodeForm) -> ExpectedCode {
    match form {
        CodeForm::Digits(length) => ExpectedCode::Digits(length),
        CodeForm::Letters(length) => ExpectedCode::Letters(length),
        CodeForm::Characters(length) => ExpectedCode::Characters(length),
    }
}

fn mail(parsed: Parsed) -> Result<Box<ParsedMail>, Failure> {
    let permanent = |slug| Err(Failure::permanent(Reason::new(slug)));
    match parsed {
        Parsed::Mail(mail) => Ok(mail),
        Parsed::Refused(refusal) => permanent(refusal.reason()),
        Parsed::Panicked => permanent("parser_panicked"),
        // The step budget decides whether a mail is too costly. Time runs out only on a
        // machine that is too busy, so the mail is tried again.
        Parsed::TooSlow => Err(Failure::transient(Reason::new("parser_too_slow"))),
        Parsed::NoThread => Err(Failure::transient(Reason::new("no_thread"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempts_own_list_keeps_the_operators_threshold() {
        let operators = Policy {
            threshold: 90,
            ..Policy::default()
        };
        for links in [None, Some(vec!["example.com".to_owned()])] {
            let terms = Terms { links, form: None };
            assert_eq!(policy(&terms, &operators).threshold, 90);
        }
    }
}
