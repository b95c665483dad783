//! The RSA key of whoever signs with one.

use std::sync::OnceLock;

use rsa::RsaPrivateKey;

/// All of a process share one key, which is new in every run: making one takes
/// seconds without optimisation.
pub(crate) fn rsa_key() -> &'static RsaPrivateKey {
    static KEY: OnceLock<RsaPrivateKey> = OnceLock::new();
    KEY.get_or_init(|| RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2048).expect("a key"))
}
