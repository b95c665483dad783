//! Where the server's secret and the sealing keys come from: the configuration,
//! or the data directory of the embedded profile.

use std::path::Path;

use anyhow::{Context, Result, bail};
use pipeline::ServerKey;
use secrecy::ExposeSecret;
use store::{KeyFile, Keyring, SealKey, Secrets};

use crate::config::{Config, Profile};
use crate::dev::DevEnv;

/// What rows are sealed and recognised with.
pub(crate) fn secrets(config: &Config) -> Result<Secrets> {
    Ok(Secrets {
        keyring: keyring(config)?,
        server_key: server_key(config)?,
    })
}

/// The secret that keys digests and cursors.
pub(crate) fn server_key(config: &Config) -> Result<ServerKey> {
    let configured = config.server.secret();
    let minted = if configured.is_empty() && config.profile() == Profile::Embedded {
        DevEnv::read(&config.data.dir)?
    } else {
        None
    };
    let secret = match &minted {
        Some(dev) => dev.server_secret(),
        None => configured,
    };
    if secret.len() < 32 {
        bail!("server.secret needs at least 32 characters, the same for every process");
    }
    Ok(ServerKey::derive(secret))
}

/// The keys that seal and open.
pub(crate) fn keyring(config: &Config) -> Result<Keyring> {
    let given = &config.seal.keys;
    match (key_file(config), given.is_empty()) {
        (Some(_), false) if !config.seal.file.as_os_str().is_empty() => {
            bail!("seal.file and seal.keys are both set: keep the keys in one place")
        }
        (_, false) => {
            let keys = given.iter().map(|key| key.expose_secret().parse());
            let keys: Result<Vec<SealKey>, _> = keys.collect();
            Ok(Keyring::of(keys.context("in seal.keys")?).context("in seal.keys")?)
        }
        (Some(file), true) => Ok(Keyring::in_file(file)?),
        (None, true) => bail!(
            "seal.file is not set: name a file with a sealing key, 32 random bytes in base64, \
             the same for every process (deploy/mint-secrets makes one)"
        ),
    }
}

/// The file that keys are kept in, if they are kept in one.
pub(crate) fn key_file(config: &Config) -> Option<KeyFile> {
    let named = &config.seal.file;
    if !named.as_os_str().is_empty() {
        return Some(KeyFile::at(named));
    }
    let embedded = config.profile() == Profile::Embedded;
    embedded.then(|| KeyFile::at(config.data.dir.join("seal.keys")))
}

/// Makes the embedded profile's own key file at its first start, and never a
/// second time: another key would not open what is there.
pub(crate) fn settle_key_file(config: &Config) -> Result<()> {
    let Some(file) = own_file(config) else {
        return Ok(());
    };
    if !file.path().exists() && has_database(config) {
        bail!(
            "{} is gone, and the database is sealed with it: put it back, or start with an empty \
             data directory",
            file.path().display()
        );
    }
    Ok(file.create_if_missing()?)
}

/// Whether the embedded profile makes its key file when it starts.
pub(crate) fn is_to_be_minted(config: &Config) -> bool {
    own_file(config).is_some_and(|file| !file.path().exists()) && !has_database(config)
}

/// The file that is this program's own to make: none was configured.
fn own_file(config: &Config) -> Option<KeyFile> {
    let is_own = config.seal.keys.is_empty() && config.seal.file.as_os_str().is_empty();
    key_file(config).filter(|_| is_own)
}

fn has_database(config: &Config) -> bool {
    let url = config.database_url();
    let path = url.expose_secret().trim_start_matches("sqlite:");
    Path::new(path).exists()
}
