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
        let answer = self.0.get(url).send().await;
        let mut answer = answer
            .ok()
            .filter(|answer| answer.status() == reqwest::StatusCode::OK)
            .ok_or(CertificateUnavailable)?;
        let mut pem = Vec::new();
        while let Some(chunk) = answer.chunk().await.ok().ok_or(CertificateUnavailable)? {
            if pem.len() + chunk.len() > MAX_BYTES {
                return Err(CertificateUnavailable);
            }
            pem.extend_from_slice(&chunk);
        }
        Ok(pem)
    }
}
