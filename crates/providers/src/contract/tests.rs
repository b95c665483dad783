//! What every contract must keep: its vectors, its payloads, its properties.

mod payloads;
mod properties;
mod received;
mod vectors;

use super::*;

/// The comment at the head of a contract's file.
fn comment(contract: &Contract) -> String {
    let file = match contract.name {
        "folder" | "http-list" | "imap" => "pulled".to_owned(),
        name => name.replace('-', "_"),
    };
    let path = format!("{}/src/contract/{file}.rs", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the contract's file");
    let head = text.lines().take_while(|line| line.starts_with("//!"));
    head.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_contracts_comment_tells_the_request_its_time_each_status_and_the_set_up() {
    for contract in contracts() {
        let comment = comment(contract);
        for part in ["Request:", "Received:", "Answers:", "Set-up:"] {
            assert!(comment.contains(part), "{}: {part}", contract.name);
        }
        let answers = contract.answers;
        let statuses = [
            200,
            answers.unproven,
            answers.too_large,
            answers.unavailable,
            answers.unread.unwrap_or(200),
        ];
        let (_, told) = comment.split_once("Answers:").expect("answers");
        for status in statuses {
            let status = status.to_string();
            assert!(told.contains(&status), "{}: {status}", contract.name);
        }
    }
}

#[test]
fn every_contract_has_a_name_of_its_own_and_steps_to_set_it_up() {
    let names: Vec<&str> = contracts().map(|contract| contract.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for contract in contracts() {
        assert!(!contract.setup.is_empty(), "{}", contract.name);
    }
}
