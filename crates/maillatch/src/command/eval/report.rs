//! The score, for people and for programs.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::Show;
use super::score::{Deviation, Score};
use super::tally::Tally;

/// Prints the score as tables.
pub(super) fn print(out: &mut impl Write, score: &Score, show: Option<Show>) -> Result<()> {
    writeln!(
        out,
        "{:<18} {:>6} {:>6} {:>9} {:>9} {:>7} {:>6} {:>6} {:>6}",
        "", "rows", "with", "precision", "recall", "F1", "wrong", "false", "missed"
    )?;
    row(out, "codes", &score.codes)?;
    row(out, "  English e-mail", &score.english_mail)?;
    for (origin, tally) in &score.codes_by_origin {
        row(out, &format!("  {origin}"), tally)?;
    }
    row(out, "links", &score.links)?;
    writeln!(
        out,
        "\nforbidden links returned    {}",
        score.links.forbidden
    )?;
    let urls = &score.urls;
    writeln!(
        out,
        "must-reject URLs accepted   {} of {}",
        urls.must_reject_accepted, urls.must_reject
    )?;
    writeln!(
        out,
        "good URLs rejected          {} of {}",
        urls.good_rejected, urls.good
    )?;
    writeln!(
        out,
        "wrappers decoded offline    {} of {}",
        urls.wrappers_decoded, urls.wrappers
    )?;
    let (p50, p99, max) = times(score);
    writeln!(
        out,
        "ms per message              p50 {p50:.3}  p99 {p99:.3}  max {max:.3}"
    )?;
    writeln!(out, "\nlanguages with deviations")?;
    for (language, tally) in score
        .codes_by_language
        .iter()
        .filter(|(_, tally)| tally.correct < tally.expected || tally.false_alarms > 0)
    {
        row(out, &format!("  {language}"), tally)?;
    }
    for deviation in listed(score, show) {
        let got = deviation.got.as_deref().unwrap_or("nothing");
        writeln!(
            out,
            "{} {} {}: expected {:?}, got {got} {}",
            deviation.outcome,
            deviation.what,
            deviation.id,
            deviation.expected,
            deviation.reason.unwrap_or("")
        )?;
    }
    Ok(())
}

fn row(out: &mut impl Write, name: &str, tally: &Tally) -> Result<()> {
    writeln!(
        out,
        "{name:<18} {:>6} {:>6} {:>9.4} {:>9.4} {:>7.4} {:>6} {:>6} {:>6}",
        tally.rows,
        tally.expected,
        tally.precision(),
        tally.recall(),
        tally.f1(),
        tally.wrong,
        tally.false_alarms,
        tally.missed
    )?;
    Ok(())
}

/// The score as one object.
pub(super) fn as_json(score: &Score, show: Option<Show>) -> Value {
    let (p50, p99, max) = times(score);
    let urls = &score.urls;
    let mut object = json!({
        "codes": tally(&score.codes),
        "english_email": tally(&score.english_mail),
        "links": tally(&score.links),
        "urls": {
            "rows": urls.rows,
            "must_reject": urls.must_reject,
            "must_reject_accepted": urls.must_reject_accepted,
            "good": urls.good,
            "good_rejected": urls.good_rejected,
            "wrappers": urls.wrappers,
            "wrappers_decoded": urls.wrappers_decoded,
        },
        "ms_per_message": { "p50": p50, "p99": p99, "max": max },
        "by_origin": tallies(&score.codes_by_origin),
        "by_language": tallies(&score.codes_by_language),
        "links_by_language": tallies(&score.links_by_language),
    });
    if show.is_some()
        && let Some(fields) = object.as_object_mut()
    {
        let cases: Vec<_> = listed(score, show).collect();
        fields.insert("cases".to_owned(), json!(cases));
    }
    object
}

fn listed(score: &Score, show: Option<Show>) -> impl Iterator<Item = &Deviation> {
    score
        .deviations
        .iter()
        .filter(move |deviation| Some(deviation.show) == show)
}

fn tallies(tallies: &BTreeMap<String, Tally>) -> BTreeMap<&str, Value> {
    tallies
        .iter()
        .map(|(name, one)| (name.as_str(), tally(one)))
        .collect()
}

fn tally(tally: &Tally) -> Value {
    json!({
        "rows": tally.rows,
        "expected": tally.expected,
        "correct": tally.correct,
        "precision": tally.precision(),
        "recall": tally.recall(),
        "f1": tally.f1(),
        "wrong": tally.wrong,
        "missed": tally.missed,
        "false_alarms": tally.false_alarms,
        "forbidden_returned": tally.forbidden,
    })
}

/// The median, the 99th percentile and the longest time of a mail, in milliseconds.
fn times(score: &Score) -> (f64, f64, f64) {
    let mut sorted = score.milliseconds.clone();
    sorted.sort_by(f64::total_cmp);
    let at = |percent: usize| {
        sorted
            .get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    };
    (at(50), at(99), sorted.last().copied().unwrap_or(0.0))
}
