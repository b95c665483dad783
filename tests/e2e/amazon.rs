//! Mail through SES and SNS, with a local server that is both SNS and S3.

use pipeline::{Clock, SystemClock, Timestamp};
use testkit::api::{Api, ok};
use testkit::sns::{CERTIFICATE, Kind, Sns, TOPIC};

use crate::client::HttpAnswer;
use crate::harness::{Harness, otp_mail};

const CONFIRMATION: &str = "/?Action=ConfirmSubscription&\
    TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A123456789012%3Amail&Token=a-token";

/// The fake Amazon server, and a source that uses it.
async fn amazon() -> (Api, Sns, String) {
    let api = Api::start().await;
    let sns = Sns::at(&api.url);
    let pem = sns.certificate().to_owned();
    api.on(CERTIFICATE, vec![ok(pem)]);
    let url = &api.url;
    let source = format!(
        "source.ses = {{ provider = \"ses-sns\", topics = [\"{TOPIC}\"], sns_url = \"{url}\", \
         s3 = {{ bucket = \"mail\", access_key = \"AKIA\", secret_key = \"secret\", \
         url = \"{url}\" }} }}\n"
    );
    (api, sns, source)
}

fn minutes_ago(minutes: i64) -> Timestamp {
    Timestamp::from_millis(SystemClock.now().as_millis() - minutes * 60_000)
}

async fn send(harness: &Harness, body: &str) -> HttpAnswer {
    let kind = [("content-type", "text/plain; charset=UTF-8")];
    let to = &harness.deployment;
    let answer = harness.client.post_to(to, "ses", &kind, body.as_bytes());
    answer.await.unwrap()
}

async fn mail_reaches_the_agent_however_amazon_hands_it_over(api: Api, sns: Sns, harness: Harness) {
    // The subscription; its confirmation fails once.
    api.on(
        CONFIRMATION,
        vec![(503, String::new(), Vec::new()), ok("yes")],
    );
    let kind = Kind::SubscriptionConfirmation;
    let question = sns.post(kind, "s-1", "Please confirm.", minutes_ago(0));
    assert_eq!(send(&harness, &question).await.status, 200);

    // A mail in the post, as a retry ten minutes after the first try, and once more. The
    // code is ten minutes old and still valid.
    let inline = sns.mail(
        "m-1",
        "inline@inbox.test",
        &otp_mail("1", "493817"),
        minutes_ago(10),
    );
    let first = send(&harness, &inline).await;
    assert_eq!(first.body["status"], "accepted", "{first:?}");
    let again = send(&harness, &inline).await;
    assert_eq!(again.body["status"], "duplicate", "{again:?}");

    // A forged copy, and one that is older than any retry.
    let forged = inline.replace("m-1", "m-2");
    assert_eq!(send(&harness, &forged).await.status, 503);
    let stale = sns.mail("m-3", "inline@inbox.test", b"x", minutes_ago(60 * 24));
    assert_eq!(send(&harness, &stale).await.status, 503);

    // A mail in S3.
    api.on("/mail/in/m-4", vec![ok(otp_mail("2", "271828"))]);
    let stored = sns.mail_in(["mail", "in/m-4"], "stored@inbox.test", minutes_ago(0));
    assert_eq!(send(&harness, &stored).await.status, 200);

    for (inbox, code) in [
        ("inline@inbox.test", "493817"),
        ("stored@inbox.test", "271828"),
    ] {
        let items = harness.until_items(inbox, 1).await;
        let id = items[0]["id"].as_str().unwrap();
        let consumed = harness.consume(id, 0, inbox).await;
        assert_eq!(consumed.body["value"], code);
    }
    harness
        .until_count(
            "SELECT count(*) FROM deliveries WHERE finished_at IS NULL",
            0,
        )
        .await;
    let asked = api.asked.lock().unwrap().clone();
    let confirmed = asked.iter().filter(|head| head.contains(CONFIRMATION));
    assert_eq!(confirmed.count(), 2, "{asked:?}");
    assert_eq!(harness.count("SELECT count(*) FROM deliveries").await, 3);
    harness.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_through_amazon_reaches_the_agent_on_the_embedded_profile() {
    let (api, sns, source) = amazon().await;
    let harness = Harness::embedded_with(&source).await;
    mail_reaches_the_agent_however_amazon_hands_it_over(api, sns, harness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_through_amazon_reaches_the_agent_on_the_full_profile() {
    let (api, sns, source) = amazon().await;
    let harness = Harness::full_with(&source).await;
    mail_reaches_the_agent_however_amazon_hands_it_over(api, sns, harness).await;
}
