//! Mail from files: imported once, and polled from a Maildir.

use serde_json::Value;

use crate::harness::{Harness, on_both_profiles, otp_mail};

on_both_profiles!(imported_mail_reaches_the_agent_once);

async fn import(harness: &Harness, args: &[&str]) -> Value {
    let mut command = harness.command(&["import", "--json"]);
    command.args(args);
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn imported_mail_reaches_the_agent_once(harness: Harness) {
    let folder = tempfile::tempdir().unwrap();
    let deeper = folder.path().join("deeper");
    for part in ["new", "cur", "tmp"] {
        std::fs::create_dir_all(deeper.join(part)).unwrap();
    }
    let mail = |n: u32| otp_mail(&n.to_string(), &(493_810 + n).to_string());
    std::fs::write(folder.path().join("1.eml"), mail(1)).unwrap();
    std::fs::write(folder.path().join("notes.txt"), mail(9)).unwrap();
    std::fs::write(deeper.join("new/1.M2.test"), mail(2)).unwrap();
    std::fs::write(deeper.join("cur/1.M3.test:2,S"), mail(3)).unwrap();
    let path = folder.path().to_str().unwrap();

    let first = import(&harness, &[path]).await;
    assert_eq!(
        (&first["mails"], &first["recorded"]),
        (&3.into(), &3.into())
    );
    // A mail in a Maildir is the same mail after a client has moved it.
    std::fs::rename(
        deeper.join("new/1.M2.test"),
        deeper.join("cur/1.M2.test:2,"),
    )
    .unwrap();
    let again = import(&harness, &[path]).await;
    assert_eq!(
        (&again["mails"], &again["recorded"]),
        (&3.into(), &0.into())
    );
    harness.until_items("agent@inbox.test", 3).await;

    let one = folder.path().join("1.eml");
    let arguments = ["--to", "other@inbox.test", "--source", "elsewhere"];
    let other = import(
        &harness,
        &[&arguments[..], &[one.to_str().unwrap()]].concat(),
    )
    .await;
    assert_eq!(other["recorded"], 1);
    harness.until_items("other@inbox.test", 1).await;
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 4);
    harness.end().await;
}

/// An old mail gives no fresh code.
#[tokio::test(flavor = "multi_thread")]
async fn imported_mail_has_the_age_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.eml");
    std::fs::write(&path, otp_mail("1", "493817")).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_hours(24 * 365);
    file.set_modified(long_ago).unwrap();
    let harness = Harness::embedded().await;
    import(&harness, &[path.to_str().unwrap()]).await;
    let items = harness.until_items("agent@inbox.test", 1).await;
    let artifact = items[0]["id"].as_str().unwrap();
    let refused = harness.consume(artifact, 0, "k1").await;
    assert_eq!(refused.status, 410, "{refused:?}");
    harness.end().await;
}
