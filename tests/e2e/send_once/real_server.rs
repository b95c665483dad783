//! SMTP to a real server, aiosmtpd, over a wire that is cut: never two copies of a mail
//! unless `uncertain` has said so, and the operator wanted a second one.

use std::collections::BTreeMap;

use testkit::mail_provider::send_key;
use testkit::server::Server;
use url::Url;

use super::office::{Office, Profile, SENT, UNCERTAIN, on_each_database};
use super::wire::{Cut, Wire};

on_each_database!(
    real_server_gets_one_copy_whatever_is_cut,
    real_server_gets_a_second_copy_only_after_uncertain,
    real_server_gets_at_most_one_copy_from_killed_processes,
);

/// A server, and the wire to it.
async fn server() -> (Server, Wire) {
    let server = tokio::task::spawn_blocking(Server::aiosmtpd).await.unwrap();
    let url = Url::parse(server.url()).unwrap();
    let wire = Wire::to(format!("127.0.0.1:{}", url.port().unwrap())).await;
    (server, wire)
}

/// How many copies of which mail the server has accepted.
fn copies(server: &Server) -> BTreeMap<String, usize> {
    let mut copies = BTreeMap::new();
    let Ok(files) = std::fs::read_dir(server.directory().join("mail/box/new")) else {
        return copies;
    };
    for file in files {
        let mail = std::fs::read_to_string(file.unwrap().path()).unwrap();
        *copies.entry(send_key(&mail).unwrap()).or_default() += 1;
    }
    copies
}

/// The same without the names of the mails.
fn numbers(server: &Server) -> Vec<usize> {
    copies(server).into_values().collect()
}

async fn real_server_gets_one_copy_whatever_is_cut(profile: Profile) {
    let (server, wire) = server().await;
    let office = Office::open_smtp(profile, wire.port).await;
    wire.cut([Cut::BeforeMessage, Cut::BeforeMessage]);
    office.order("before").await;
    office.harness.until_count(SENT, 1).await;
    assert_eq!(numbers(&server), [1]);

    // It is unknown whether the last byte arrived, so each of these is uncertain. Only
    // the last one was accepted.
    for (number, cut) in [Cut::InMessage, Cut::BeforeDot, Cut::InDot, Cut::AfterDot]
        .into_iter()
        .enumerate()
    {
        wire.cut([cut]);
        let id = office.order(&format!("cut{number}")).await;
        let cut = i64::try_from(number).unwrap() + 1;
        office.harness.until_count(UNCERTAIN, cut).await;
        assert_eq!(office.state(&id).await, "uncertain");
    }
    office.stays(UNCERTAIN).await;
    assert_eq!(numbers(&server), [1, 1]);
    office.harness.end().await;
}

async fn real_server_gets_a_second_copy_only_after_uncertain(profile: Profile) {
    let (server, wire) = server().await;
    let office = Office::open_retrying_smtp(profile, wire.port).await;
    wire.cut([Cut::AfterDot]);
    office.order("o1").await;
    office.harness.until_count(SENT, 1).await;
    assert_eq!(numbers(&server), [2]);
    let uncertain = "SELECT count(*) FROM send_events WHERE what = 'uncertain'";
    assert_eq!(office.harness.count(uncertain).await, 1);
    office.harness.end().await;
}

async fn real_server_gets_at_most_one_copy_from_killed_processes(profile: Profile) {
    let (server, wire) = server().await;
    let mut office = Office::open_smtp(profile, wire.port).await;
    for round in 0..4 {
        for n in 0..8 {
            office.order(&format!("o{round}-{n}")).await;
        }
        office.kill_and_restart().await;
    }
    let settled = "SELECT count(*) FROM sends WHERE state IN ('sent', 'uncertain')";
    office.harness.until_count(settled, 32).await;
    let copies = copies(&server);
    assert!(copies.values().all(|copies| *copies == 1), "{copies:?}");
    let sent = usize::try_from(office.harness.count(SENT).await).unwrap();
    assert!((sent..=32).contains(&copies.len()), "{sent}: {copies:?}");
    office.harness.end().await;
}
