//! The limit of SQLite: bare batches of inserts by one writer, synced on every commit.
//! Prints rows a second.

use std::time::{Duration, Instant};

use anyhow::Result;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor};
use uuid::Uuid;

const BODY: usize = 8 * 1024;

pub async fn run(file: &str, rows: usize, seconds: u64) -> Result<()> {
    let mut connection = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .connect()
        .await?;
    connection
        .execute("CREATE TABLE IF NOT EXISTS bare (id blob PRIMARY KEY, body blob NOT NULL)")
        .await?;
    let body: Vec<u8> = (0..BODY).map(|_| rand::random()).collect();
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < Duration::from_secs(seconds) {
        let mut transaction = connection.begin().await?;
        for _ in 0..rows {
            sqlx::query("INSERT INTO bare VALUES (?, ?)")
                .bind(Uuid::new_v4())
                .bind(&body)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        count += rows;
    }
    println!("{:.0}", count as f64 / began.elapsed().as_secs_f64());
    Ok(())
}
