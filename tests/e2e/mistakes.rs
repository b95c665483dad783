//! The common mistakes of a first day: each message names the thing, the cause and the next
//! step. They are kept word for word.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use maillatch::deployment::Role;
use secrecy::ExposeSecret;
use serde_json::json;
use tempfile::TempDir;
use testkit::server::{Server, shared_url};

use crate::clock;
use crate::harness::{Harness, binary};

/// Runs the binary in a directory, with nothing of this process's own settings.
fn run(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(args).current_dir(dir).stdin(Stdio::null());
    command
}

async fn ended(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap())
        .await
        .unwrap()
}

/// What a command says when it fails, with the changing parts replaced.
async fn said(command: Command, code: i32, changing: &[(&str, &str)]) -> String {
    let output = ended(command).await;
    let mut text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{text}");
    for (part, name) in changing {
        text = text.replace(part, name);
    }
    text.trim_end().to_owned()
}

fn empty() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn with_settings(text: &str) -> TempDir {
    let dir = empty();
    std::fs::write(dir.path().join("maillatch.toml"), text).unwrap();
    dir
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_of_a_client() {
    let harness = Harness::embedded().await;
    let dir = empty();
    let url = harness.deployment.url(Role::Feed, 0).unwrap().to_string();
    let (key, secret) = (
        harness.deployment.key(0),
        harness.deployment.signing_secret(),
    );
    let client = |args: &[&str], key: &str, secret: &str| {
        let mut command = run(dir.path(), args);
        command
            .env("MAILLATCH_URL", &url)
            .env("MAILLATCH_KEY", key)
            .env("MAILLATCH_SIGNING_SECRET", secret);
        command
    };
    let (key, secret) = (key.expose_secret(), secret.expose_secret());

    let wrong_key = client(&["wait", "code"], &feed::Keys::mint(), secret);
    assert_eq!(
        said(wrong_key, 7, &[]).await,
        "maillatch: the server does not accept the key; check that MAILLATCH_KEY is a key of this \
         server"
    );
    let other = "whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs";
    let wrong_secret = client(&["trigger", "otp"], key, other);
    assert_eq!(
        said(wrong_secret, 7, &[]).await,
        "maillatch: the server refused the signature for source dev (signature-invalid); check \
         that MAILLATCH_SIGNING_SECRET is the secret of this source"
    );
    let mut wrong_clock = client(&["trigger", "otp"], key, secret);
    clock::shift(&mut wrong_clock, -7200);
    let text = said(
        wrong_clock,
        7,
        &[("7199 s", "7200 s"), ("7201 s", "7200 s")],
    )
    .await;
    assert_eq!(
        text,
        "maillatch: the server refused the signature (signature-invalid): this machine's clock is \
         7200 s behind the server's, so the signature is not valid now; synchronise both with NTP, \
         then try again"
    );
    let no_source = client(&["trigger", "otp", "--source", "shop"], key, secret);
    assert_eq!(
        said(no_source, 1, &[]).await,
        "maillatch: the server has no source named shop; list its sources with: maillatch source \
         list"
    );
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attempt_that_has_ended_and_an_id_and_a_key_that_are_missing() {
    let harness = Harness::embedded().await;
    let dir = empty();
    let attempt = harness.open(json!({ "deadline": 1 })).await;
    harness.until_state(&attempt, "nothing_arrived").await;
    let id = attempt["id"].as_str().unwrap();
    let mut expired = run(dir.path(), &["attempt", "consume", id]);
    let (url, key) = harness.agent();
    expired.env("MAILLATCH_URL", url).env("MAILLATCH_KEY", key);
    assert_eq!(
        said(expired, 3, &[]).await,
        "maillatch: nothing_arrived: no message arrived in time; check the address you gave, and open another \
         attempt"
    );
    harness.end().await;

    // A script whose `attempt new` has failed passes an empty id. No server is asked.
    let text = said(run(dir.path(), &["attempt", "consume", ""]), 2, &[]).await;
    assert!(
        text.starts_with(
            "error: invalid value '' for '<ATTEMPT>': not an attempt's id, which `maillatch attempt \
             new` prints: att_…"
        ),
        "{text}"
    );

    let mut nowhere = run(dir.path(), &["wait", "code"]);
    nowhere.env("MAILLATCH_URL", "http://127.0.0.1:1");
    assert_eq!(
        said(nowhere, 1, &[]).await,
        "maillatch: MAILLATCH_KEY is not set, and maillatch-data/dev.env does not have it; set it, \
         or name the data directory of `maillatch up` with --data-dir"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_in_the_configuration() {
    let dir = with_settings("[server]\nlistn = \"127.0.0.1:1\"\n");
    let text = said(run(dir.path(), &["up"]), 1, &[]).await;
    assert!(
        text.starts_with(
            "maillatch: maillatch.toml is not a valid configuration: unknown field `listn`, \
             expected one of `listen`"
        ),
        "{text}"
    );
    let dir = with_settings("[source.shop]\nprovider = \"pigeon\"\n");
    let text = said(run(dir.path(), &["up", "--listen", "127.0.0.1:0"]), 1, &[]).await;
    let start = "maillatch: a source is not valid: source `shop` cannot be used: ";
    assert!(text.contains(start) && text.contains("pigeon"), "{text}");
    assert!(text.contains("postmark"), "{text}");

    let dir = empty();
    let mut variable = run(dir.path(), &["up"]);
    variable.env("MAILLATCH_SERVER_LISTEN", "127.0.0.1:0");
    assert_eq!(
        said(variable, 1, &[]).await,
        "maillatch: MAILLATCH_SERVER_LISTEN is no setting; did you mean MAILLATCH_SERVER__LISTEN?"
    );
    let public = run(dir.path(), &["up", "--listen", "0.0.0.0:0"]);
    assert_eq!(
        said(public, 1, &[]).await,
        "maillatch: other machines can reach 0.0.0.0:0, and the development source and key are for \
         this machine only; configure a source and a key (see deploy/default.toml), or listen on \
         127.0.0.1"
    );
    let provider = run(dir.path(), &["source", "add", "pigeon"]);
    let text = said(provider, 1, &[]).await;
    assert!(
        text.starts_with("maillatch: unknown provider; known are agentmail, "),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_on_the_machine() {
    let harness = Harness::embedded().await;
    let url = harness.deployment.url(Role::Feed, 0).unwrap();
    let taken = format!("127.0.0.1:{}", url.port().unwrap());
    let dir = empty();
    let busy = run(dir.path(), &["up", "--listen", &taken]);
    let text = said(busy, 1, &[(&taken, "TAKEN")]).await;
    assert_eq!(
        text.lines().last().unwrap(),
        "maillatch: another process listens on TAKEN; stop it, or choose another port with --listen \
         127.0.0.1:PORT (port 0 takes a free one: --listen 127.0.0.1:0)"
    );
    let config = harness.deployment.config();
    let data = config.with_file_name("data");
    let data = data.to_str().unwrap();
    let second = harness.command(&["up", "--listen", "127.0.0.1:0"]);
    assert_eq!(
        said(second, 1, &[(data, "DATA")])
            .await
            .lines()
            .last()
            .unwrap(),
        "maillatch: failed to open the database: the database file `DATA/maillatch.db` is in use by \
         another process; stop that one, or use another data directory"
    );
    harness.end().await;

    let dir = empty();
    // Root may write anywhere, but not below a file.
    std::fs::write(dir.path().join("file"), "").unwrap();
    let unwritable = run(dir.path(), &["up", "--data-dir", "file/data"]);
    assert_eq!(
        said(unwritable, 1, &[]).await,
        "maillatch: failed to create the data directory file/data; choose one that this user may \
         write to with --data-dir: Not a directory (os error 20)"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_with_the_database_server() {
    let dir = empty();
    let server = url::Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
    let place = format!(
        "{}:{}",
        server.host_str().unwrap(),
        server.port().unwrap_or(5432)
    );
    let user = server.username().to_owned();
    let migrate = |url: &url::Url| run(dir.path(), &["migrate", "--database-url", url.as_str()]);
    let changing = [(place.as_str(), "SERVER"), (user.as_str(), "USER")];

    let mut missing = server.clone();
    missing.set_path("/no_such_database");
    assert_eq!(
        said(migrate(&missing), 1, &changing).await,
        "maillatch: failed to migrate the database: PostgreSQL at SERVER has no database `no_such_database`; create it with: \
         createdb -O USER no_such_database"
    );
    let mut nobody = server.clone();
    nobody.set_port(Some(1)).unwrap();
    let at = nobody.host_str().unwrap().to_owned();
    assert_eq!(
        said(migrate(&nobody), 1, &[(at.as_str(), "HOST")]).await,
        "maillatch: failed to migrate the database: nothing listens at HOST:1; check that PostgreSQL runs there, and the host and \
         port of database.url"
    );
}

/// The shared server trusts everybody, so this one has a rule that asks for a password.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_password_names_the_user_and_where_to_correct_it() {
    use sqlx::Connection;

    let mut server = Server::postgres();
    let mut url = url::Url::parse(server.url()).unwrap();
    let mut admin = sqlx::PgConnection::connect(url.as_str()).await.unwrap();
    let role = "CREATE ROLE walled LOGIN PASSWORD 'the right one'";
    sqlx::raw_sql(role).execute(&mut admin).await.unwrap();
    admin.close().await.unwrap();
    server.stop();
    let rules = server.directory().join("data/pg_hba.conf");
    let trusting = std::fs::read_to_string(&rules).unwrap();
    let asking = format!("host all walled all scram-sha-256\n{trusting}");
    std::fs::write(&rules, asking).unwrap();
    server.start();
    url.set_username("walled").unwrap();
    url.set_password(Some("the-wrong-one")).unwrap();
    let place = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let dir = empty();
    let migrate = run(dir.path(), &["migrate", "--database-url", url.as_str()]);
    assert_eq!(
        said(migrate, 1, &[(place.as_str(), "SERVER")]).await,
        "maillatch: failed to migrate the database: PostgreSQL at SERVER does not accept the \
         password of user `walled`; correct the user and the password in database.url, or the \
         rules of pg_hba.conf"
    );
}

/// Fresh addresses at a domain that no source receives mail for.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_domain_of_fresh_addresses_names_the_source_to_use() {
    let settings = "inbox.mint_domain = \"wrong.shop.dev\"\nsource.dev.domains = [\"dev.test\"]\n\
         source.shop = { provider = \"standard-webhooks\", domains = [\"mail.shop.dev\"], \
         secrets = [\"whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs\"] }\n";
    let harness = Harness::embedded_with(settings).await;
    let dir = empty();
    let (url, key) = harness.agent();
    let mut attempt = run(dir.path(), &["attempt", "new"]);
    attempt.env("MAILLATCH_URL", url).env("MAILLATCH_KEY", key);
    assert_eq!(
        said(attempt, 1, &[]).await,
        "maillatch: the server answered 409: this server has no domain for new addresses: mail to \
         them would not arrive; name an inbox in the request, or ask the operator to run `maillatch \
         doctor`"
    );
    let line = "no source receives mail for wrong.shop.dev, the domain of fresh addresses; add it \
                to the `domains` of a source, or set inbox.mint_domain to a domain of source `shop`";
    let doctor = harness.doctor().await;
    assert!(doctor.contains(line), "{doctor}");
    let log = harness.deployment.logs().unwrap();
    assert!(log.contains(line), "{log}");
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn role_on_a_database_without_tables_names_the_command() {
    let mut url = url::Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
    url.set_path(&format!("e2e_{}", uuid::Uuid::now_v7().simple()));
    store::create_database(&url.as_str().into()).await.unwrap();
    let dir = with_settings(
        "server.secret = \"0123456789abcdef0123456789abcdef\"\n\
         seal.keys = [\"CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=\"]\n",
    );
    let amqp = "amqp://127.0.0.1:1";
    let args = ["worker", "--database-url", url.as_str(), "--amqp-url", amqp];
    let text = said(run(dir.path(), &args), 1, &[]).await;
    let last = text.lines().last().unwrap();
    let start = "maillatch: failed to open the database: the database lacks the migrations 0001_";
    assert!(last.starts_with(start), "{last}");
    assert!(last.ends_with(": run `maillatch migrate`"), "{last}");
    store::drop_database(&url.as_str().into()).await.unwrap();
}

/// Commands neither ask questions on a terminal nor wait for one.
#[tokio::test(flavor = "multi_thread")]
async fn command_without_a_terminal_and_without_input_says_what_is_missing() {
    let dir = empty();
    let mut relay = run(dir.path(), &["relay", "agent@inbox.test"]);
    relay.env(
        "MAILLATCH_SIGNING_SECRET",
        "whsec_dGhpcyBpcyBub3QgYSBzZWNyZXQgYXQgYWxs",
    );
    assert_eq!(
        said(relay, 75, &[]).await,
        "maillatch: standard input has no message; pipe one in: maillatch relay ADDRESS < \
         message.eml"
    );
}

/// A reader that is gone after one line ends a command quietly.
#[test]
fn closed_pipe_ends_a_command_without_a_panic() {
    let dir = empty();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    for script in [
        "\"$0\" completions bash | head -n 1",
        "\"$0\" doctor --data-dir data | head -n 1",
        "\"$0\" source add mailgun 2>&1 | head -n 1",
        "\"$0\" explain nothing.eml 2>&1 >/dev/null | true",
    ] {
        let output = Command::new("bash")
            .args(["-c", script])
            .arg(binary())
            .current_dir(dir.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!said.contains("panicked"), "{script}: {said}");
        assert!(output.status.success(), "{script}: {said}");
    }
}
