//! Downloads the certificates that providers sign with.

use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Client, redirect};
use webhook::{CertificateFetch, CertificateUnavailable};

/// A certificate has a few kilobytes.
const MAX_BYTES: usize = 64 * 1024;

/// Downloads certificates. The caller decides which URLs are allowed.
///
/// The client is built when it is needed first: few providers sign with certificates, and
/// a machine without certificates for TLS can serve the others.
#[derive(Default)]
pub(crate) struct CertificateClient(OnceLock<Option<Client>>);

impl CertificateClient {
    fn client(&self) -> Option<&Client> {
        let build = || {
            // The caller has checked the URL; a redirect would lead to another one.
            let client = Client::builder()
                .redirect(redirect::Policy::none())
                .timeout(Duration::from_secs(4));
            let client = client.build().inspect_err(|error| {
                let error: &dyn std::error::Error = error;
                tracing::error!(
                    error,
                    "no client for certificates; install CA certificates and restart"
                );
            });
            client.ok()
        };
        self.0.get_or_init(build).as_ref()
    }
}

#[async_trait]
impl CertificateFetch for CertificateClient {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, CertificateUnavailable> {
        let away = CertificateUnavailable::Away;
        let client = self.client().ok_or(away)?;
        let mut answer = client.get(url).send().await.ok().ok_or(away)?;
        if answer.status().is_client_error() {
            return Err(CertificateUnavailable::NotThere);
        }
        if answer.status() != reqwest::StatusCode::OK {
            return Err(away);
        }
        let mut pem = Vec::new();
        while let Some(chunk) = answer.chunk().await.ok().ok_or(away)? {
            if pem.len() + chunk.len() > MAX_BYTES {
                return Err(away);
            }
            pem.extend_from_slice(&chunk);
        }
        Ok(pem)
    }
}
