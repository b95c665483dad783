//! The two charts of the page.

use crate::confidence::Confidences;
use crate::plot::{BLUE, GREY, ORANGE, Plot, Point};
use crate::tally::Tally;

/// Precision and recall by threshold.
pub(crate) fn threshold(codes: &Confidences) -> String {
    let mut plot = Plot::new(
        "Codes: precision and recall by threshold",
        "threshold",
        "share",
    );
    let line = |share: fn(&Tally) -> Option<f64>| -> Vec<Point> {
        let share = |percent| Some((f64::from(percent) / 100.0, share(&codes.above(percent))?));
        (0..100).filter_map(share).collect()
    };
    let (precision, recall) = (line(Tally::precision), line(Tally::recall));
    plot.line(&precision, BLUE);
    plot.dashed_line(&recall, ORANGE);
    for (line, colour, name) in [(precision, BLUE, "precision"), (recall, ORANGE, "recall")] {
        if let Some(last) = line.last() {
            plot.label(*last, colour, name);
        }
    }
    plot.finish()
}

/// Stated confidence against the share that was right. On the diagonal they are equal.
pub(crate) fn reliability(codes: &Confidences) -> String {
    let mut plot = Plot::new(
        "Codes: is the stated confidence right?",
        "stated confidence",
        "share of right codes",
    );
    plot.dashed_line(&[(0.0, 0.0), (1.0, 1.0)], GREY);
    plot.label((1.0, 1.0), GREY, "as stated");
    for tenth in codes.by_tenth().values() {
        let Some(right) = tenth.tally.precision() else {
            continue;
        };
        let (stated, (low, high)) = (tenth.stated(), interval(right, tenth.tally.given()));
        plot.line(&[(stated, low), (stated, high)], BLUE);
        plot.dot((stated, right), BLUE);
    }
    plot.finish()
}

/// The 95 % interval of a share by Wilson, which also holds for few answers.
fn interval(share: f64, count: u32) -> (f64, f64) {
    let (z, n) = (1.96_f64, f64::from(count));
    let scale = 1.0 + z * z / n;
    let middle = (share + z * z / (2.0 * n)) / scale;
    let variance = share * (1.0 - share) / n + z * z / (4.0 * n * n);
    let half = z * variance.sqrt() / scale;
    ((middle - half).max(0.0), (middle + half).min(1.0))
}
