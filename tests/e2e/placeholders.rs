//! A server does not start with a placeholder or with a secret that everybody can read.

use std::process::Command;

use providers::{Ask, contracts};

use crate::harness::binary;

/// Tries to start a server with these settings; returns what it says.
fn refused(settings: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("maillatch.toml"), settings).unwrap();
    let mut command = Command::new(binary());
    command
        .args(["up", "--listen", "127.0.0.1:0"])
        .current_dir(dir.path());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{settings}: {said}");
    assert!(!dir.path().join("maillatch-data").exists());
    said
}

/// What `source add` prints without its options.
fn printed(provider: &str) -> String {
    let mut command = Command::new(binary());
    let output = command.args(["source", "add", provider]).output().unwrap();
    assert!(output.status.success(), "{provider}");
    String::from_utf8(output.stdout).unwrap()
}

/// The template as it is: domain and secrets are not filled in.
#[test]
fn settings_of_source_add_with_a_placeholder_left_stop_the_start() {
    for contract in contracts() {
        let (name, printed) = (contract.name, printed(contract.name));
        let said = refused(&printed);
        assert!(said.contains("placeholder"), "{name}: {said}");
        let with_domain = printed.replace("PASTE THE DOMAIN WHOSE MAIL IT RECEIVES", "a.dev");
        if contract.asks.iter().any(|ask| ask.placeholder().is_some()) {
            let said = refused(&with_domain);
            assert!(said.contains("placeholder"), "{name}: {said}");
        }
    }
}

#[test]
fn published_secrets_stop_the_start_and_are_not_repeated() {
    let examples = contracts().flat_map(|contract| contract.asks);
    let examples = examples.filter_map(Ask::placeholder).map(|(_, one)| one);
    let secrets = examples.filter(|one| one.starts_with("whsec_"));
    let published = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"];
    for secret in secrets.chain(published) {
        let said = refused(&format!(
            "[source.shop]\nprovider = \"standard-webhooks\"\nsecrets = [\"{secret}\"]\n"
        ));
        assert!(said.contains("source.shop.secrets"), "{said}");
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn sender_with_a_placeholder_stops_the_start() {
    for (provider, credential) in [
        ("provider = \"resend\"", "api_key = \"…\""),
        ("provider = \"resend\"", "api_key = \"re_…\""),
        ("provider = \"postmark\"", "api_key = \"PASTE THE TOKEN\""),
        ("provider = \"brevo\"", "api_key = \"…\""),
        ("provider = \"mailgun\"", "api_key = \"…\""),
        ("provider = \"nylas\"\ngrant = \"g\"", "api_key = \"nyk_…\""),
        ("provider = \"sendgrid\"", "api_key = \"SG.…\""),
        ("provider = \"sparkpost\"", "api_key = \"…\""),
        (
            "provider = \"ses\"\nregion = \"eu-west-1\"\naccess_key = \"AK\"",
            "secret_key = \"…\"",
        ),
        (
            "provider = \"smtp\"\nhost = \"mail.example.com\"\nusername = \"u\"",
            "password = \"…\"",
        ),
    ] {
        let said = refused(&format!(
            "[senders.shop]\n{provider}\nfrom = \"shop@example.com\"\n{credential}\n"
        ));
        let name = credential.split(' ').next().unwrap();
        assert!(said.contains(&format!("senders.shop.{name}")), "{said}");
        assert!(said.contains("replace it"), "{said}");
    }
}
