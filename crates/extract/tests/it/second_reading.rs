//! What a second reader says about a tenth of the writers' mails.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde_json::Value;

/// The second reader saw an action link where the writer did not, or none where the writer
/// did. `hands/README.md` says why these labels stay.
const LINKS_THAT_DIFFER: [&str; 3] = ["53-111", "64-117", "65-080"];

fn lines(path: PathBuf) -> Vec<Value> {
    let file = std::fs::read_to_string(path).unwrap();
    file.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/mail")
}

fn labels() -> HashMap<String, Value> {
    let files = std::fs::read_dir(folder().join("hands")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let lines = files.flat_map(lines);
    lines
        .map(|line| (line["id"].as_str().unwrap().to_owned(), line))
        .collect()
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// A code without blanks, hyphens and case, so that two spellings of one code are equal.
fn compact(code: &str) -> String {
    let kept = extract::folded(code);
    let kept = kept.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// Equal, or equal but for a prefix of letters such as `G-`.
fn is_same_code(label: &Value, code: &Value) -> bool {
    let Some(code) = code.as_str().map(compact) else {
        return label["expected_otp"].is_null();
    };
    let accepted = texts(&label["accept"]).chain(label["expected_otp"].as_str());
    let mut accepted = accepted.map(compact);
    let is_end_of = |whole: &str, end: &str| {
        let prefix = whole.strip_suffix(end);
        end.len() >= 4 && prefix.is_some_and(|prefix| prefix.chars().all(char::is_alphabetic))
    };
    accepted.any(|label| is_end_of(&label, &code) || is_end_of(&code, &label) || label == code)
}

/// Whether both name no link, or share one: the same action may have several addresses.
fn are_same_links(label: &Value, links: &Value) -> bool {
    let expected: Vec<&str> = texts(&label["expected_links"]).collect();
    let has_any = texts(links).next().is_some();
    let has_common = texts(links).any(|link| expected.contains(&link));
    has_common || (expected.is_empty() && !has_any)
}

#[test]
fn second_reader_of_a_tenth_names_the_same_code_always_and_a_same_link_but_for_three() {
    let labels = labels();
    let readings = lines(folder().join("second-reading.jsonl"));
    let mut by_writer: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut codes, mut links) = (Vec::new(), Vec::new());
    for reading in &readings {
        let id = reading["id"].as_str().unwrap();
        let label = &labels[id];
        *by_writer
            .entry(label["origin"].as_str().unwrap())
            .or_default() += 1;
        if !is_same_code(label, &reading["code"]) {
            codes.push(id);
        }
        if !are_same_links(label, &reading["links"]) {
            links.push(id);
        }
    }
    assert_eq!(codes, [""; 0]);
    assert_eq!(links, LINKS_THAT_DIFFER);
    let mut tenths: BTreeMap<&str, u32> = BTreeMap::new();
    for label in labels.values() {
        *tenths.entry(label["origin"].as_str().unwrap()).or_default() += 1;
    }
    for mails in tenths.values_mut() {
        *mails /= 10;
    }
    assert_eq!(by_writer, tenths);
    assert_eq!((readings.len() * 10, by_writer.len()), (labels.len(), 251));
}
