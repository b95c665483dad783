//! A webhook as tutorials show it: verify, insert, publish with a confirm, answer. One
//! commit and one confirm for each request.

use actix_web::web::{Bytes, Data};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use sha2::Sha256;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use crate::queue;

struct Deps {
    pool: PgPool,
    channel: Channel,
    queue: String,
    secret: Vec<u8>,
}

/// Serves on a free port and prints it.
pub async fn run(database: &str, amqp: &str, secret: &str, external: bool) -> Result<()> {
    let pool = PgPoolOptions::new().max_connections(32);
    let pool = pool.connect(database).await?;
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS mails (
             id text PRIMARY KEY,
             body bytea NOT NULL,
             state text NOT NULL DEFAULT 'new',
             received_at timestamptz NOT NULL DEFAULT now());
         CREATE TABLE IF NOT EXISTS messages (
             message_id text PRIMARY KEY, mail_id text NOT NULL, inbox text NOT NULL);
         CREATE TABLE IF NOT EXISTS codes (
             id bigserial PRIMARY KEY, inbox text NOT NULL, code text NOT NULL,
             UNIQUE (inbox, code));",
    )
    .execute(&pool)
    .await?;
    if external {
        sqlx::raw_sql("ALTER TABLE mails ALTER COLUMN body SET STORAGE EXTERNAL")
            .execute(&pool)
            .await?;
    }
    let connection = Connection::connect(amqp, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel
        .confirm_select(ConfirmSelectOptions::default())
        .await?;
    let durable = QueueDeclareOptions {
        durable: true,
        ..QueueDeclareOptions::default()
    };
    channel
        .queue_declare(queue(database).into(), durable, FieldTable::default())
        .await?;
    let secret = STANDARD
        .decode(secret.trim_start_matches("whsec_"))
        .context("the secret is not base64")?;
    let deps = Data::new(Deps {
        pool,
        channel,
        queue: queue(database),
        secret,
    });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(deps.clone())
            .app_data(web::PayloadConfig::new(1 << 20))
            .route("/hooks/dev", web::post().to(post))
    })
    .workers(2)
    .bind("127.0.0.1:0")?;
    println!("{}", server.addrs()[0]);
    server.run().await?;
    drop(connection);
    Ok(())
}

async fn post(request: HttpRequest, body: Bytes, deps: Data<Deps>) -> HttpResponse {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    };
    let id = header("webhook-id");
    if !is_signed(
        &deps.secret,
        id,
        header("webhook-timestamp"),
        &body,
        header("webhook-signature"),
    ) {
        return HttpResponse::Unauthorized().finish();
    }
    match store(&deps, id, &body).await {
        Ok(()) => HttpResponse::Ok().finish(),
        Err(error) => {
            eprintln!("{error:#}");
            HttpResponse::ServiceUnavailable().finish()
        }
    }
}

async fn store(deps: &Deps, id: &str, body: &[u8]) -> Result<()> {
    let inserted =
        sqlx::query("INSERT INTO mails (id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING")
            .bind(id)
            .bind(body)
            .execute(&deps.pool)
            .await?;
    if inserted.rows_affected() == 1 {
        let properties = BasicProperties::default().with_delivery_mode(2);
        let options = BasicPublishOptions::default();
        let confirm = deps
            .channel
            .basic_publish(
                "".into(),
                deps.queue.as_str().into(),
                options,
                id.as_bytes(),
                properties,
            )
            .await?;
        confirm.await?;
    }
    Ok(())
}

/// The Standard Webhooks signature, and a timestamp of the last five minutes.
fn is_signed(secret: &[u8], id: &str, timestamp: &str, body: &[u8], signature: &str) -> bool {
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    let sent: u64 = timestamp.parse().unwrap_or(0);
    if now.as_secs().abs_diff(sent) > 300 {
        return false;
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
        return false;
    };
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        mac.update(part);
    }
    let given = signature.strip_prefix("v1,").unwrap_or("");
    let Ok(given) = STANDARD.decode(given) else {
        return false;
    };
    mac.verify_slice(&given).is_ok()
}
