//! Counts answers and prints them as cells of a table.

use serde::Deserialize;

use crate::judge::{Judged, Verdict};

/// The answers about one kind of artifact.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
pub(crate) struct Tally {
    pub(crate) mails: u32,
    /// Mails that have the artifact.
    pub(crate) expected: u32,
    pub(crate) right: u32,
    pub(crate) wrong: u32,
}

impl Tally {
    pub(crate) fn add(&mut self, verdict: Verdict) {
        self.mails += 1;
        self.expected += u32::from(verdict.is_expected);
        self.right += u32::from(verdict.answer == Some(true));
        self.wrong += u32::from(verdict.answer == Some(false));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.mails += other.mails;
        self.expected += other.expected;
        self.right += other.right;
        self.wrong += other.wrong;
    }

    pub(crate) fn given(&self) -> u32 {
        self.right + self.wrong
    }

    /// Right answers among all answers.
    pub(crate) fn precision(&self) -> Option<f64> {
        share(self.right, self.given())
    }

    /// Right answers among the mails that have the artifact.
    pub(crate) fn recall(&self) -> Option<f64> {
        share(self.right, self.expected)
    }

    /// Precision, recall and wrong answers.
    pub(crate) fn cells(&self) -> String {
        let (precision, recall) = (cell(self.precision()), cell(self.recall()));
        format!("{precision} | {recall} | {}", self.wrong)
    }
}

/// The codes and the links of the same mails, and the mails as a whole.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Scores {
    pub(crate) codes: Tally,
    /// Fewer mails than `codes` has, where the links of some have no label.
    pub(crate) links: Tally,
    /// Mails with a code that got none, and with a link that got none.
    pub(crate) missed_codes: u32,
    pub(crate) missed_links: u32,
    /// Mails whose code and link are as labelled.
    pub(crate) right: u32,
    /// Mails with a code or a link that was not returned, and nothing wrong.
    pub(crate) abstained: u32,
    /// Mails with a wrong code or link.
    pub(crate) wrong: u32,
}

impl Scores {
    pub(crate) fn add(&mut self, mail: &Judged) {
        self.codes.add(mail.code);
        self.missed_codes += u32::from(mail.code.is_missed());
        if let Some(link) = mail.link {
            self.links.add(link);
            self.missed_links += u32::from(link.is_missed());
        }
        let verdicts = || [Some(mail.code), mail.link].into_iter().flatten();
        if verdicts().any(|verdict| verdict.answer == Some(false)) {
            self.wrong += 1;
        } else if verdicts().any(Verdict::is_missed) {
            self.abstained += 1;
        } else {
            self.right += 1;
        }
    }
}

/// A share of nothing is no number.
pub(crate) fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

pub(crate) fn cell(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"))
}
