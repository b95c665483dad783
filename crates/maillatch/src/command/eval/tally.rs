//! Counts, and the ratios computed from them.

/// Counts of one kind of answer.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub(super) rows: u32,
    pub(super) expected: u32,
    pub(super) correct: u32,
    pub(super) wrong: u32,
    pub(super) missed: u32,
    pub(super) false_alarms: u32,
    pub(super) forbidden: u32,
}

/// Counts of URLs.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct UrlTally {
    pub(super) rows: u32,
    pub(super) must_reject: u32,
    pub(super) must_reject_accepted: u32,
    pub(super) good: u32,
    pub(super) good_rejected: u32,
    pub(super) wrappers: u32,
    pub(super) wrappers_decoded: u32,
}

impl Tally {
    pub(super) fn precision(&self) -> f64 {
        ratio(self.correct, self.correct + self.wrong + self.false_alarms)
    }

    pub(super) fn recall(&self) -> f64 {
        ratio(self.correct, self.expected)
    }

    pub(super) fn f1(&self) -> f64 {
        let (p, r) = (self.precision(), self.recall());
        if p + r > 0.0 {
            2.0 * p * r / (p + r)
        } else {
            0.0
        }
    }

    pub(super) fn count(&mut self, expected: bool, outcome: &str) {
        self.rows += 1;
        self.expected += u32::from(expected);
        match outcome {
            "correct" => self.correct += 1,
            "wrong" => self.wrong += 1,
            "missed" => self.missed += 1,
            "false" => self.false_alarms += 1,
            "forbidden" if expected => {
                self.wrong += 1;
                self.forbidden += 1;
            }
            "forbidden" => {
                self.false_alarms += 1;
                self.forbidden += 1;
            }
            _ => {}
        }
    }
}

fn ratio(part: u32, whole: u32) -> f64 {
    if whole == 0 {
        1.0
    } else {
        f64::from(part) / f64::from(whole)
    }
}
