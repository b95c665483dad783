//! A worker as tutorials show it, with our extractor in place of a regular expression:
//! sixteen messages at once, and three commits for each of them.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use extract::Policy;
use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Connection, ConnectionProperties};
use serde_json::Value;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::queue;

const AT_ONCE: usize = 16;

pub async fn run(database: &str, amqp: &str) -> Result<()> {
    let pool = PgPoolOptions::new().max_connections(16);
    let pool = pool.connect(database).await?;
    let connection = Connection::connect(amqp, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.basic_qos(64, BasicQosOptions::default()).await?;
    let options = BasicConsumeOptions::default();
    let messages = channel
        .basic_consume(
            queue(database).into(),
            "worker".into(),
            options,
            FieldTable::default(),
        )
        .await?;
    messages
        .for_each_concurrent(AT_ONCE, |message| {
            let pool = pool.clone();
            async move {
                // A task of its own, so that both cores extract.
                let done = tokio::spawn(async move {
                    let message = message?;
                    process(&pool, &message).await?;
                    message.ack(BasicAckOptions::default()).await?;
                    anyhow::Ok(())
                });
                if let Ok(Err(error)) = done.await {
                    eprintln!("{error:#}");
                }
            }
        })
        .await;
    Ok(())
}

async fn process(pool: &PgPool, message: &Delivery) -> Result<()> {
    let id = std::str::from_utf8(&message.data)?;
    let body: Vec<u8> = sqlx::query_scalar(
        "UPDATE mails SET state = 'working' WHERE id = $1 AND state <> 'done' RETURNING body",
    )
    .bind(id)
    .fetch_one(pool)
    .await?;
    let (inbox, raw) = unpack(&body)?;
    let mail = extract::extract(&raw, &Policy::default())
        .map_err(|refusal| anyhow::anyhow!("{refusal:?}"))?;
    sqlx::query("INSERT INTO messages VALUES ($1, $1, $2) ON CONFLICT DO NOTHING")
        .bind(id)
        .bind(&inbox)
        .execute(pool)
        .await?;
    let code = mail.code.found().map(|code| code.value.clone());
    let mut transaction = pool.begin().await?;
    if let Some(code) = code {
        sqlx::query("INSERT INTO codes (inbox, code) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(&inbox)
            .bind(code)
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::query("UPDATE mails SET state = 'done' WHERE id = $1")
        .bind(id)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(())
}

/// The inbox and the raw mail of a post.
pub fn unpack(body: &[u8]) -> Result<(String, Vec<u8>)> {
    let body: Value = serde_json::from_slice(body)?;
    let data = &body["data"];
    let inbox = data["recipients"][0].as_str().context("no recipient")?;
    let raw = data["raw"].as_str().context("no mail")?;
    Ok((inbox.to_owned(), STANDARD.decode(raw)?))
}
