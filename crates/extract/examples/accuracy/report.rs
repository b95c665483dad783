//! The scores of many mails, whole and in groups.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use crate::confidence::Confidences;
use crate::judge::{Class, Judged};
use crate::tally::{Scores, Tally};

/// A language with fewer mails says nothing alone.
const FEWEST_MAILS: u32 = 10;

#[derive(Default)]
pub(crate) struct Report {
    pub(crate) all: Scores,
    /// The codes, if each caller says which form of code it waits for.
    pub(crate) known_form: Tally,
    /// Forbidden links that were returned.
    pub(crate) forbidden: u32,
    pub(crate) by_origin: BTreeMap<String, Scores>,
    pub(crate) by_class: BTreeMap<Class, Scores>,
    by_language: BTreeMap<String, Tally>,
    pub(crate) code_confidence: Confidences,
    pub(crate) link_confidence: Confidences,
}

impl Report {
    /// Scores the mails of some files, one JSON object to a line.
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self, Box<dyn Error>> {
        let mut report = Self::default();
        for file in files {
            for line in std::fs::read_to_string(file)?.lines() {
                report.add(&Judged::new(&serde_json::from_str(line)?));
            }
        }
        Ok(report)
    }

    fn add(&mut self, mail: &Judged) {
        self.all.add(mail);
        self.known_form.add(mail.known_form);
        self.forbidden += u32::from(mail.is_link_forbidden);
        let by_origin = self.by_origin.entry(mail.origin.clone()).or_default();
        by_origin.add(mail);
        self.by_class.entry(mail.class).or_default().add(mail);
        let by_language = self.by_language.entry(mail.language.clone()).or_default();
        by_language.add(mail.code);
        self.code_confidence.add(mail.code);
        if let Some(link) = mail.link {
            self.link_confidence.add(link);
        }
    }

    /// The codes by language; those of all languages with few mails are one row, the last.
    pub(crate) fn languages(&self) -> Vec<(String, Tally)> {
        let is_common = |tally: &Tally| tally.mails >= FEWEST_MAILS;
        let mut rows = Vec::new();
        let mut other = Tally::default();
        let mut rare = 0;
        for (language, tally) in &self.by_language {
            if is_common(tally) {
                rows.push((language.clone(), *tally));
            } else {
                rare += 1;
                other.merge(*tally);
            }
        }
        if rare > 0 {
            rows.push((format!("{rare} other"), other));
        }
        rows
    }
}
