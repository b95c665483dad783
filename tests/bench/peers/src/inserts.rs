//! The limit of the database: bare multi-row inserts of bodies, with nothing around
//! them. Prints rows a second and the median time of a commit in microseconds.

use std::time::{Duration, Instant};

use anyhow::Result;
use sqlx::postgres::PgPoolOptions;
use uuid::Uuid;

const BODY: usize = 8 * 1024;

pub async fn run(database: &str, connections: u32, rows: usize, seconds: u64) -> Result<()> {
    let pool = PgPoolOptions::new().max_connections(connections);
    let pool = pool.connect(database).await?;
    sqlx::raw_sql(
        "CREATE TABLE IF NOT EXISTS bare (id uuid PRIMARY KEY, body bytea NOT NULL);
         ALTER TABLE bare ALTER COLUMN body SET STORAGE EXTERNAL;",
    )
    .execute(&pool)
    .await?;
    let body: Vec<u8> = (0..BODY).map(|_| rand::random()).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let began = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..connections {
        let (pool, bodies) = (pool.clone(), vec![body.clone(); rows]);
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            let mut connection = pool.acquire().await?;
            while Instant::now() < end {
                let ids: Vec<Uuid> = (0..rows).map(|_| Uuid::new_v4()).collect();
                let began = Instant::now();
                sqlx::query("INSERT INTO bare SELECT * FROM unnest($1::uuid[], $2::bytea[])")
                    .bind(&ids)
                    .bind(&bodies)
                    .execute(&mut *connection)
                    .await?;
                times.push(began.elapsed());
            }
            anyhow::Ok(times)
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let rate = (times.len() * rows) as f64 / began.elapsed().as_secs_f64();
    times.sort_unstable();
    println!("{rate:.0} {}", times[times.len() / 2].as_micros());
    Ok(())
}
