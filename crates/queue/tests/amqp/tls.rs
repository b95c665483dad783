//! Brokers behind TLS.

use testkit::wait::until;

use crate::broker::{self, notify_until_taken, proxied_with_tls, receive, settings};

#[tokio::test(flavor = "multi_thread")]
async fn broker_behind_tls_carries_notifications() {
    let (_proxy, url, certificate) = proxied_with_tls().await;
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, certificate).unwrap();
    let mut settings = settings(&url);
    settings.ca_file = Some(ca_file);
    let queue = broker::open(&settings).await;
    let delivery = notify_until_taken(&queue).await;
    receive(&mut queue.bell(), delivery).await;
    queue.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn broker_with_an_untrusted_certificate_gets_no_bytes() {
    let (proxy, url, _) = proxied_with_tls().await;
    let queue = queue::open(&settings(&url)).await.unwrap();
    until("the proxy was refused", || async {
        (proxy.aborted_handshakes() > 0).then_some(())
    })
    .await;
    assert_eq!(proxy.completed_handshakes(), 0);
    assert!(queue.probe.probe().await.is_err());
    queue.close().await;
}

#[tokio::test]
async fn ca_file_without_certificates_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ca_file = folder.path().join("ca.pem");
    for content in [None, Some(""), Some("not a certificate")] {
        if let Some(content) = content {
            std::fs::write(&ca_file, content).unwrap();
        }
        let mut settings = settings("amqps://guest:guest@localhost:9/%2f");
        settings.ca_file = Some(ca_file.clone());
        let error = queue::open(&settings).await.unwrap_err();
        assert_eq!(error, queue::OpenError::MalformedCertificates);
    }
}
