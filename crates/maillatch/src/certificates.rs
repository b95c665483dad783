//! Downloads the certificates that providers sign with.

use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use reqwest::{Client, redirect};
use webhook::{CertificateFetch, CertificateUnavailable};

/// A certificate has a few kilobytes.
const MAX_BYTES: usize = 64 * 1024;

/// Downloads certificates. The caller decides which URLs are allowed.
pub(crate) struct CertificateClient(Client);

impl CertificateClient {
    pub(crate) fn new() -> Result<Self> {
        // The caller has checked the URL; a redirect would lead to another one.
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(Duration::from_secs(4))
            .build()
            .context("failed to build the client for certificates")?;
        Ok(Self(client))
    }
}

#[async_trait]
impl CertificateFetch for CertificateClient {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, CertificateUnavailable> {
        let away = CertificateUnavailable::Away;
        let mut answer = self.0.get(url).send().await.ok().ok_or(away)?;
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
