//! An RSA key for tests.

use std::sync::OnceLock;

use rsa::RsaPrivateKey;

/// One key for the whole process, new in every run: generating one takes seconds without
/// optimisation.
pub(crate) fn rsa_key() -> &'static RsaPrivateKey {
    static KEY: OnceLock<RsaPrivateKey> = OnceLock::new();
    KEY.get_or_init(|| RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2048).expect("a key"))
}
