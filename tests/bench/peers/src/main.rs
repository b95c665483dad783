//! What Maillatch is measured against, one file each.
//!
//!     peers webhook DATABASE_URL AMQP_URL SECRET [external]
//!     peers worker DATABASE_URL AMQP_URL
//!     peers inserts DATABASE_URL CONNECTIONS ROWS SECONDS
//!     peers sqlite FILE ROWS SECONDS
//!     peers extractor DATABASE_URL

mod extractor;
mod inserts;
mod sqlite;
mod webhook;
mod worker;

use anyhow::{Result, bail};

/// The queue between webhook and worker: one for each database.
fn queue(database: &str) -> String {
    let name = database.rsplit('/').next();
    format!("mails-{}", name.unwrap_or_default())
}

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["webhook", database, amqp, secret] => webhook::run(database, amqp, secret, false).await,
        ["webhook", database, amqp, secret, "external"] => {
            webhook::run(database, amqp, secret, true).await
        }
        ["worker", database, amqp] => worker::run(database, amqp).await,
        ["inserts", database, connections, rows, seconds] => {
            inserts::run(
                database,
                connections.parse()?,
                rows.parse()?,
                seconds.parse()?,
            )
            .await
        }
        ["sqlite", file, rows, seconds] => sqlite::run(file, rows.parse()?, seconds.parse()?).await,
        ["extractor", database] => extractor::run(database).await,
        _ => bail!("see the head of main.rs"),
    }
}
