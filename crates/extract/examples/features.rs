//! Prints what the models see of labelled mails, for `train/train.py`.
//!
//! `cargo run --release -p extract --example features -- CASES.jsonl … > features.jsonl`
//! A line of a file is a case as `maillatch eval` reads it, with the whole mail in `raw`.

use std::io::Write;

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for file in std::env::args().skip(1) {
        for line in std::fs::read_to_string(&file)?.lines() {
            let mut case: Value = serde_json::from_str(line)?;
            let raw = case.get("raw").and_then(Value::as_str).unwrap_or_default();
            let features = extract::features(raw.as_bytes()).ok();
            let accepted = |field: &str| case.get(field).cloned().unwrap_or(Value::Null);
            let code = extract::extract(raw.as_bytes(), &extract::Policy::default()).ok();
            let found = code.as_ref().and_then(|mail| mail.code.found());
            let link = code.as_ref().and_then(|mail| mail.link.found());
            let row = json!({
                "file": file,
                "id": accepted("id"),
                "lang": accepted("lang"),
                "class": accepted("class"),
                "expected_otp": accepted("expected_otp").as_str().map(extract::folded),
                "accept": accepted("accept"),
                "expected_links": accepted("expected_links"),
                "forbidden_links": accepted("forbidden_links"),
                "got_code": found.map(|code| code.value.clone()),
                "got_link": link.map(|link| link.url.clone()),
                "features": features,
            });
            writeln!(out, "{row}")?;
            case.take();
        }
    }
    Ok(())
}
