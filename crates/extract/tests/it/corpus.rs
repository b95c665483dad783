//! The project's own corpus of labelled mails.

use std::path::PathBuf;

use extract::{Allowlist, Policy, extract};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/mail")
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "eml"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn label(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join(format!("{name}.json"))).unwrap())
        .unwrap()
}

fn deviation(name: &str) -> Option<String> {
    let label = label(name);
    let raw = std::fs::read(folder().join(format!("{name}.eml"))).unwrap();
    let links = match label["allow"].as_array() {
        Some(entries) => {
            Allowlist::parse(entries.iter().map(|entry| entry.as_str().unwrap())).unwrap()
        }
        None => Allowlist::any(),
    };
    let mail = extract(
        &raw,
        &Policy {
            links,
            ..Policy::default()
        },
    )
    .unwrap();
    let code = mail.code.found().map(|code| code.value.as_str());
    let link = mail.link.found().map(|link| link.url.as_str());
    let flags: Vec<&str> = mail.flags.iter().map(|flag| flag.as_str()).collect();
    let reason = |field: &str, actual: Option<extract::AbstainReason>| {
        label[field]
            .as_str()
            .is_none_or(|expected| actual.map(extract::AbstainReason::as_str) == Some(expected))
    };
    let right = code == label["code"].as_str()
        && link == label["link"].as_str()
        && label["kind"].as_str().is_none_or(|kind| {
            mail.link
                .found()
                .is_some_and(|link| link.kind.as_str() == kind)
        })
        && label["flags"].as_array().is_none_or(|all| {
            all.iter()
                .all(|flag| flags.contains(&flag.as_str().unwrap()))
        })
        && reason("reason", mail.code.reason())
        && reason("link_reason", mail.link.reason());
    let got = format!(
        "{name}: {code:?} {:?}, {link:?} {:?}, {flags:?}",
        mail.code.reason(),
        mail.link.reason()
    );
    (!right).then_some(got)
}

#[test]
fn every_corpus_mail_matches_its_label() {
    let deviations: Vec<String> = names().iter().filter_map(|name| deviation(name)).collect();
    assert!(deviations.is_empty(), "{}", deviations.join("\n"));
}

#[test]
fn corpus_has_150_mails_in_30_languages() {
    let labels: Vec<Value> = names().iter().map(|name| label(name)).collect();
    let mut languages: Vec<&str> = labels
        .iter()
        .map(|label| label["lang"].as_str().unwrap())
        .collect();
    languages.sort_unstable();
    languages.dedup();
    assert!(labels.len() >= 150, "{} mails", labels.len());
    assert!(languages.len() >= 30, "{} languages", languages.len());
}
