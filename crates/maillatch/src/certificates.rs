//! Getting the certificates that providers sign with, over HTTP.

use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use reqwest::{Client, redirect};
use webhook::{CertificateFetch, CertificateUnavailable};

/// A certificate is a few kilobytes.
const MOST_BYTES: usize = 64 * 1024;

/// Gets certificates; which ones may be got is not decided here.
pub(crate) struct Getter(Client);

impl Getter {
    pub(crate) fn new() -> Result<Self> {
        // The URL was judged before it came here, and a redirect would leave it.
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(Duration::from_secs(4))
            .build()
            .context("failed to build the client for certificates")?;
        Ok(Self(client))
    }
}

#[async_trait]
impl CertificateFetch for Getter {
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, CertificateUnavailable> {
        let answer = self.0.get(url).send().await;
        let mut answer = answer
            .ok()
            .filter(|answer| answer.status() == reqwest::StatusCode::OK)
            .ok_or(CertificateUnavailable)?;
        let mut pem = Vec::new();
        while let Some(chunk) = answer.chunk().await.ok().ok_or(CertificateUnavailable)? {
            if pem.len() + chunk.len() > MOST_BYTES {
                return Err(CertificateUnavailable);
            }
            pem.extend_from_slice(&chunk);
        }
        Ok(pem)
    }
}
