//! Our extractor alone, on one core, over the mails that were posted. Prints mails a
//! second.

use std::time::Instant;

use anyhow::{Result, ensure};
use extract::Policy;
use sqlx::PgPool;

use crate::worker::unpack;

const MAILS: i64 = 2_000;

pub async fn run(database: &str) -> Result<()> {
    let pool = PgPool::connect(database).await?;
    let bodies: Vec<Vec<u8>> = sqlx::query_scalar("SELECT body FROM mails LIMIT $1")
        .bind(MAILS)
        .fetch_all(&pool)
        .await?;
    let mails: Result<Vec<_>> = bodies.iter().map(|body| unpack(body)).collect();
    let (mails, policy) = (mails?, Policy::default());
    // The first mail builds the lexicons.
    if let Some((_, raw)) = mails.first() {
        let _ = extract::extract(raw, &policy);
    }
    let began = Instant::now();
    let found = mails.iter().filter(|(_, raw)| {
        extract::extract(raw, &policy).is_ok_and(|mail| mail.code.found().is_some())
    });
    let found = found.count();
    let rate = mails.len() as f64 / began.elapsed().as_secs_f64();
    ensure!(
        found == mails.len(),
        "{found} of {} mails gave a code",
        mails.len()
    );
    println!("{rate:.0}");
    Ok(())
}
