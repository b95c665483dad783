//! A disk that is full for a while: posts are refused, none is lost, and the same
//! processes take posts again when there is space.

use std::time::Duration;

use maillatch::deployment::Role;
use sqlx::{Connection, PgConnection};
use testkit::disk::SmallDisk;
use testkit::server::{Server, shared_url};
use tokio::time::Instant;

use crate::harness::{Harness, payload};

const INBOX: &str = "agent@inbox.test";

/// A mail of about 60 KB with a code of its own.
fn large_delivery(number: u32) -> Vec<u8> {
    let code = 100_000 + number * 7;
    let filler = format!("{}\r\n", "x".repeat(70)).repeat(800);
    let raw = format!(
        "From: Example Accounts <no-reply@example.com>\r\n\
         To: {INBOX}\r\n\
         Message-ID: <{number}@example.com>\r\n\
         Date: Sun, 15 Nov 2026 10:00:00 +0000\r\n\
         Subject: Your verification code\r\n\
         \r\n\
         Your verification code is {code}. It expires in 10 minutes.\r\n\r\n{filler}"
    );
    payload(INBOX, raw.as_bytes())
}

async fn post(harness: &Harness, number: u32) -> u16 {
    let id = format!("msg_{number}");
    let body = large_delivery(number);
    harness
        .post(number as usize, &id, &body)
        .await
        .status
        .as_u16()
}

/// Posts while the disk is full and after it; returns how many were acknowledged.
async fn fill_and_free(harness: &Harness, disk: &SmallDisk) -> i64 {
    let mut acknowledged = 0;
    assert_eq!(post(harness, 0).await, 200);
    acknowledged += 1;
    disk.fill();
    let mut refused = 0;
    let mut number = 0;
    while refused < 5 {
        number += 1;
        assert!(number < 500, "the disk is not full");
        match post(harness, number).await {
            200 => acknowledged += 1,
            503 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(harness.get(Role::Webhook, "/livez").await.status, 200);
    disk.free();
    let freed = Instant::now();
    while post(harness, number).await != 200 {
        assert!(freed.elapsed() < Duration::from_secs(30), "still refused");
    }
    acknowledged + 1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_posts_until_there_is_space_on_embedded() {
    let disk = SmallDisk::mount(4, "");
    let harness = Harness::embedded_in(&disk.path().join("data")).await;
    let acknowledged = fill_and_free(&harness, &disk).await;
    let count = "SELECT count(*) FROM deliveries";
    assert_eq!(harness.count(count).await, acknowledged);
    let unfinished = "SELECT count(*) FROM deliveries WHERE state <> 'done'";
    harness.until_count(unfinished, 0).await;
    harness.end().await;
}

/// The tables are on the small disk, the server's log is not: a server whose log has no
/// space stops by itself.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "a path cannot be a parameter")]
async fn a_full_tablespace_refuses_posts_until_there_is_space_on_full() {
    let server = Server::postgres();
    let disk = SmallDisk::mount(16, ",mode=0777");
    let tables = disk.path().join("tables");
    std::fs::create_dir(&tables).unwrap();
    let status = std::process::Command::new("chown")
        .args(["--reference", server.directory().to_str().unwrap()])
        .arg(&tables)
        .status();
    assert!(status.unwrap().success());
    let mut connection = PgConnection::connect(server.url()).await.unwrap();
    let path = tables.display();
    let statements = format!("CREATE TABLESPACE small LOCATION '{path}'");
    for statement in [
        statements,
        "CREATE DATABASE small TABLESPACE small".to_owned(),
    ] {
        let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement));
        statement.execute(&mut connection).await.unwrap();
    }
    let mut url = url::Url::parse(server.url()).unwrap();
    url.set_path("small");
    let harness = Harness::on_servers(url.as_str(), &shared_url("TEST_AMQP_URL")).await;
    let acknowledged = fill_and_free(&harness, &disk).await;
    let count = "SELECT count(*) FROM deliveries";
    assert_eq!(harness.count(count).await, acknowledged);
    let unfinished = "SELECT count(*) FROM deliveries WHERE state <> 'done'";
    harness.until_count(unfinished, 0).await;
    harness.end().await;
    drop(server);
}
