//! Judges posts from standard input, one JSON object on a line:
//! `{"settings": {…}, "headers": [["name", "value"]], "body": "<base64>",
//! "certificate": "<PEM>", "now": 1763164800}`. Prints `proven`, or why not. The
//! script `against_python` holds it against the providers' own libraries.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "it is run by a script that reads what it prints"
)]

use std::collections::BTreeMap;
use std::io::BufRead;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pipeline::Timestamp;
use providers::{Certificate, RawRequest, SourceSettings, Sources};
use serde_json::Value;

fn main() {
    for line in std::io::stdin().lock().lines() {
        let post: Value = serde_json::from_str(&line.unwrap()).unwrap();
        println!("{}", judge(&post));
    }
}

fn judge(post: &Value) -> String {
    let settings: SourceSettings = serde_json::from_value(post["settings"].clone()).unwrap();
    let sources = Sources::build(BTreeMap::from([("main".to_owned(), settings)])).unwrap();
    let source = sources.get("main").unwrap();
    let headers: Vec<(String, String)> = serde_json::from_value(post["headers"].clone()).unwrap();
    let lines = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()));
    let body = STANDARD.decode(post["body"].as_str().unwrap()).unwrap();
    let certificate = post["certificate"].as_str();
    let certificate = certificate.and_then(|pem| Certificate::from_pem(pem.as_bytes()));
    let request = RawRequest::new(lines, &body).with_certificate(certificate.as_ref());
    let now = Timestamp::from_millis(post["now"].as_i64().unwrap() * 1000);
    match source.verify(&request, now) {
        Ok(_) => "proven".to_owned(),
        Err(error) => error.reason().to_owned(),
    }
}
