//! What a value needs to be the code, as log odds and as points of the rules.

use crate::model::UNIT;

/// The log odds that a value needs. Chosen by cross-validation, so that 0.97 of all answers
/// are right.
pub(super) const THRESHOLD: i32 = 3 * UNIT / 4;
/// The same for a value that the rules support as well: a plain mail with unusual
/// sentences around its code.
pub(super) const THRESHOLD_LABELLED: i32 = 0;
/// The points of such a value: a direct label and more.
pub(super) const LABELLED: i32 = 90;
/// The log odds that words need: they are mostly names.
pub(super) const THRESHOLD_WORDS: i32 = 3 * UNIT / 2;
/// The same for a word in small letters: any word of a sentence may look like one.
pub(super) const THRESHOLD_SMALL: i32 = 2 * UNIT;
/// The points with which the rules support a candidate.
pub(super) const SUPPORT: i32 = 60;
/// How far the best value must be ahead of the next.
pub(super) const MARGIN: i32 = 2 * UNIT;
/// By how much the odds of a value rise if it has the form that the caller expects.
pub(super) const EXPECTED: i32 = UNIT / 2;
/// The log odds that the model gives by itself to a value of the same shape that may be the code
/// as well, and the points that it has then: a label or a request, and more.
pub(super) const RIVAL: i32 = UNIT / 2;
pub(super) const RIVAL_POINTS: i32 = 45;
/// The log odds of such a value if both are directly labelled. The models give less to the
/// second one of two.
pub(super) const RIVAL_LABELLED: i32 = -UNIT;
