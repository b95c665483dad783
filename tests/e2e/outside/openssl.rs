//! Signatures by the `openssl` program, so that no code of ours signs what our code checks.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Runs `openssl` on an input and returns its output.
fn openssl(args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("openssl")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    output.stdout
}

/// The HMAC of an input, with a key taken literally.
pub(super) fn hmac(digest: &str, key: &str, input: &[u8]) -> Vec<u8> {
    let key = format!("key:{key}");
    let digest = format!("-{digest}");
    let args = ["dgst", &digest, "-binary", "-mac", "HMAC", "-macopt", &key];
    openssl(&args, input)
}

/// The HMAC-SHA-256 of an input in lower-case hexadecimal.
pub(super) fn hex_hmac(key: &str, input: &[u8]) -> String {
    let mac = hmac("sha256", key, input);
    mac.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// A private key in a file.
pub(super) struct PrivateKey {
    folder: tempfile::TempDir,
}

impl PrivateKey {
    pub(super) fn rsa() -> Self {
        Self::generate(&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
    }

    pub(super) fn p256() -> Self {
        Self::generate(&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
    }

    fn generate(kind: &[&str]) -> Self {
        let key = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let file = key.file();
        let out = ["-out", file.to_str().unwrap()];
        openssl(&[&["genpkey"], kind, &out].concat(), b"");
        key
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// The public key as the base64 of its document.
    pub(super) fn public(&self) -> String {
        let file = self.file();
        let file = file.to_str().unwrap();
        let args = ["pkey", "-in", file, "-pubout", "-outform", "DER"];
        STANDARD.encode(openssl(&args, b""))
    }

    /// A certificate of the key.
    pub(super) fn certificate(&self) -> Vec<u8> {
        let file = self.file();
        let file = file.to_str().unwrap();
        let subject = ["-subj", "/CN=sns.amazonaws.com", "-days", "2"];
        openssl(
            &[&["req", "-x509", "-new", "-key", file], &subject[..]].concat(),
            b"",
        )
    }

    /// The base64 of the signature over an input.
    pub(super) fn sign(&self, digest: &str, input: &[u8]) -> String {
        let file = self.file();
        let digest = format!("-{digest}");
        let args = ["dgst", &digest, "-sign", file.to_str().unwrap()];
        STANDARD.encode(openssl(&args, input))
    }
}
