//! Processes on a database that a newer version has migrated.

use sqlx::{Connection, PgConnection};
use testkit::server::shared_url;

use crate::harness::{Harness, binary, otp_delivery};

const INBOX: &str = "agent@inbox.test";

async fn post(harness: &Harness, number: u32) {
    let code = (100_000 + number * 7_919).to_string();
    let body = otp_delivery(INBOX, &number.to_string(), &code);
    let answer = harness
        .post(number as usize, &format!("msg_{number}"), &body)
        .await;
    assert_eq!(answer.status, 200);
}

/// What a newer version's additive migration does to the database.
#[expect(
    clippy::disallowed_methods,
    reason = "a column name cannot be a parameter"
)]
async fn migrate_further(url: &str, column: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let statements = format!(
        "DO $$ DECLARE name text; BEGIN
             FOR name IN SELECT tablename FROM pg_tables
                         WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations'
             LOOP EXECUTE format('ALTER TABLE %I ADD COLUMN {column} text', name); END LOOP;
         END $$;
         INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         SELECT max(version) + 1, 'a_newer_{column}', true, '', 0 FROM _sqlx_migrations"
    );
    let statements = sqlx::raw_sql(sqlx::AssertSqlSafe(statements));
    statements.execute(&mut connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_start_and_keep_running_on_a_newer_additive_schema() {
    let mut url = url::Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
    url.set_path(&format!("e2e_{}", uuid::Uuid::now_v7().simple()));
    let url = url.to_string();
    store::create_database(&url.as_str().into()).await.unwrap();
    let migrate = |arguments: &[&str]| {
        let mut command = std::process::Command::new(binary());
        command.args(["migrate", "--json", "--database-url", &url]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let plan = migrate(&["--plan"]);
    let missing = plan["missing"].as_array().unwrap();
    assert_eq!(missing[0]["name"], "0001_pipeline");
    assert_eq!(missing[0]["additive"], true);
    assert_eq!(
        migrate(&[])["applied"].as_array().unwrap().len(),
        missing.len()
    );
    migrate_further(&url, "first").await;
    assert_eq!(
        migrate(&["--plan"])["newer"],
        serde_json::json!(["a_newer_first"])
    );

    let harness = Harness::on_servers(&url, &shared_url("TEST_AMQP_URL")).await;
    for number in 0..8 {
        post(&harness, number).await;
    }
    harness.until_items(INBOX, 8).await;
    // Another one while every process has its statements prepared.
    migrate_further(&url, "second").await;
    for number in 8..24 {
        post(&harness, number).await;
    }
    let items = harness.until_items(INBOX, 24).await;
    for (index, item) in items.iter().enumerate() {
        let id = item["id"].as_str().unwrap();
        let answer = harness.consume(id, index, &format!("key_{index}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    harness.end().await;
    store::drop_database(&url.as_str().into()).await.unwrap();
}
