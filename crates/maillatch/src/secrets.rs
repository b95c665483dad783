//! Finds the server secret and the sealing keys: in the configuration, or in the
//! data directory of the embedded profile.

use std::path::Path;

use anyhow::{Context, Result, bail};
use pipeline::ServerKey;
use secrecy::ExposeSecret;
use store::{KeyFile, Keyring, SealKey, Secrets};

use crate::config::{Config, Profile};
use crate::dev::DevEnv;

/// The secrets of the store: they seal rows and key the digests of duplicates.
pub(crate) fn secrets(config: &Config) -> Result<Secrets> {
    Ok(Secrets {
        keyring: keyring(config)?,
        server_key: server_key(config)?,
    })
}

/// The server secret, which keys digests and cursors.
pub(crate) fn server_key(config: &Config) -> Result<ServerKey> {
    let configured = config.server.secret();
    let generated = if configured.is_empty() && config.profile() == Profile::Embedded {
        DevEnv::read(&config.data.dir)?
    } else {
        None
    };
    let secret = match &generated {
        Some(dev) => dev.server_secret(),
        None => configured,
    };
    if secret.len() < 32 {
        bail!("server.secret needs at least 32 characters; use the same secret for every process");
    }
    Ok(ServerKey::derive(secret))
}

/// The sealing keys.
pub(crate) fn keyring(config: &Config) -> Result<Keyring> {
    let given = &config.seal.keys;
    match (key_file(config), given.is_empty()) {
        (Some(_), false) if !config.seal.file.as_os_str().is_empty() => {
            bail!("seal.file and seal.keys are both set; remove one of them")
        }
        (_, false) => {
            let keys = given.iter().map(|key| key.expose_secret().parse());
            let keys: Result<Vec<SealKey>, _> = keys.collect();
            Ok(Keyring::of(keys.context("in seal.keys")?).context("in seal.keys")?)
        }
        (Some(file), true) => Ok(Keyring::in_file(file)?),
        (None, true) => bail!(
            "seal.file is not set; it names the file with the sealing key: 32 random bytes in \
             base64, the same for every process (deploy/mint-secrets creates one)"
        ),
    }
}

/// The file with the sealing keys, if they are in a file.
pub(crate) fn key_file(config: &Config) -> Option<KeyFile> {
    let named = &config.seal.file;
    if !named.as_os_str().is_empty() {
        return Some(KeyFile::at(named));
    }
    let embedded = config.profile() == Profile::Embedded;
    embedded.then(|| KeyFile::at(config.data.dir.join("seal.keys")))
}

/// Creates the embedded profile's own key file at its first start, and never a
/// second time: another key would not open the rows that are there.
pub(crate) fn prepare_key_file(config: &Config) -> Result<()> {
    let Some(file) = own_file(config) else {
        return Ok(());
    };
    if !file.path().exists() && has_database(config) {
        bail!(
            "{} is missing, and the database is sealed with it; restore it from a backup, or \
             start with an empty data directory",
            file.path().display()
        );
    }
    Ok(file.create_if_missing()?)
}

/// Whether the embedded profile will create its key file when it starts.
pub(crate) fn will_create_key_file(config: &Config) -> bool {
    own_file(config).is_some_and(|file| !file.path().exists()) && !has_database(config)
}

/// The key file that this program creates itself, because none is configured.
fn own_file(config: &Config) -> Option<KeyFile> {
    let is_own = config.seal.keys.is_empty() && config.seal.file.as_os_str().is_empty();
    key_file(config).filter(|_| is_own)
}

fn has_database(config: &Config) -> bool {
    let url = config.database_url();
    let path = url.expose_secret().trim_start_matches("sqlite:");
    Path::new(path).exists()
}
