//! Tests of every provider: signatures, payloads, received times and properties.

mod payloads;
mod properties;
mod received;
mod replays;
mod sdk_vectors;
mod sent_events;
mod shapes;
mod vectors;

use super::*;

/// The comment at the head of a contract's file.
fn comment(contract: &Contract) -> String {
    let file = if contract.is_poll_only() {
        "poll_only".to_owned()
    } else {
        contract.name.replace('-', "_")
    };
    let path = format!("{}/src/provider/{file}.rs", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the contract's file");
    let head = text.lines().take_while(|line| line.starts_with("//!"));
    head.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_provider_file_documents_request_received_answers_and_set_up() {
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
        let (_, table) = comment.split_once("Answers:").expect("answers");
        assert!(table.contains("| evidence |"), "{}", contract.name);
        for status in statuses {
            let row = format!("//! | {status} | ");
            let is_silent = status == 200 && contract.is_poll_only();
            assert!(
                is_silent || table.contains(&row),
                "{}: {status}",
                contract.name
            );
        }
    }
}

#[test]
fn registry_is_sorted_and_every_provider_has_set_up_steps() {
    let names: Vec<&str> = contracts().map(|contract| contract.name).collect();
    assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
    for contract in contracts() {
        assert!(!contract.setup.is_empty(), "{}", contract.name);
    }
}

#[test]
fn every_provider_is_in_the_table_of_the_readme() {
    let path = format!("{}/README.md", env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(path).expect("the README");
    let rows: Vec<&str> = readme
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    for contract in contracts() {
        let name = format!("`{}`", contract.name);
        let row = rows.iter().find(|row| row.contains(&name));
        let row = row.unwrap_or_else(|| panic!("{} is not in the README", contract.name));
        let polled = row.contains("polled");
        assert_eq!(
            polled,
            contract.polling.is_some(),
            "{}: {row}",
            contract.name
        );
    }
}

/// What happens to a mail whose post was answered with a status.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Delivered,
    Retried,
    Lost,
}

/// What each provider does with a status, by its code or its documents (the evidence is
/// in the provider's file).
fn fate(provider: &str, status: u16) -> Fate {
    let is_retried = match provider {
        // `http_sender.rb`: 5xx is a soft failure, 429 and every other status a hard one.
        // Only server errors are retried.
        "postal" | "ses-sns" | "sendgrid" => (500..600).contains(&status),
        // A 4xx rejects the mail at the sending server.
        "cloudmailin" => !(400..500).contains(&status),
        "mailgun" => status != 406,
        "postmark" => status != 403,
        "nylas" => [408, 429, 502, 503, 504, 507].contains(&status),
        // Any status but 2xx is retried.
        _ => true,
    };
    match status {
        200..300 => Fate::Delivered,
        _ if is_retried => Fate::Retried,
        _ => Fate::Lost,
    }
}

#[test]
fn mail_that_was_not_stored_is_retried_by_every_provider() {
    for contract in contracts().filter(|contract| !contract.is_poll_only()) {
        let answers = contract.answers;
        let unread = answers
            .unread
            .map_or(vec![400, 408, 415], |status| vec![status]);
        let refusals = [answers.unproven, answers.too_large, answers.unavailable];
        for status in unread.into_iter().chain(refusals) {
            let name = contract.name;
            assert_eq!(fate(name, status), Fate::Retried, "{name} {status}");
        }
    }
}
