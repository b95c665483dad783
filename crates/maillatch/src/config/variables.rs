//! The variables of the environment that are ours. A misspelt one would be ignored
//! silently, so it is an error.

use anyhow::{Result, bail};
use toml::Table;

/// How each of our variables begins.
pub(super) const PREFIX: &str = "MAILLATCH_";

/// Variables that are no settings: those of the client commands and of `dev.env`, and
/// those of the client packages, which start a server themselves.
const OTHERS: [&str; 11] = [
    "MAILLATCH_CONFIG",
    "MAILLATCH_URL",
    "MAILLATCH_KEY",
    "MAILLATCH_SIGNING_SECRET",
    "MAILLATCH_SERVER_SECRET",
    "MAILLATCH_PANIC_MESSAGES",
    "MAILLATCH_BIN",
    "MAILLATCH_OPENAPI",
    "MAILLATCH_REPEAT",
    "MAILLATCH_TIMEOUT",
    "MAILLATCH_WORKERS",
];

/// Fails if a variable begins like ours and is none of them. `settings` has every section
/// and key, for a suggestion.
pub(super) fn refuse_unknown(name: &str, settings: &Table) -> Result<()> {
    if !name.starts_with(PREFIX) || OTHERS.contains(&name) {
        return Ok(());
    }
    match suggestion(name, settings) {
        Some(known) => bail!("{name} is no setting; did you mean {known}?"),
        None => bail!(
            "{name} is no setting; settings are named {PREFIX}SECTION__KEY, such as \
             {PREFIX}SERVER__LISTEN, and deploy/default.toml lists them; unset it"
        ),
    }
}

/// The variable of a setting that differs only in its underscores.
fn suggestion(name: &str, settings: &Table) -> Option<String> {
    let letters = |name: &str| name.replace('_', "");
    let mut known = settings.iter().flat_map(|(section, value)| {
        let keys = value.as_table().into_iter().flat_map(Table::keys);
        keys.map(move |key| format!("{PREFIX}{section}__{key}").to_uppercase())
    });
    let file = name.strip_suffix("_FILE");
    let found = known.find(|known| {
        letters(known) == letters(name) || file.is_some_and(|file| letters(known) == letters(file))
    })?;
    Some(match file {
        Some(file) if letters(&found) == letters(file) => format!("{found}_FILE"),
        _ => found,
    })
}

#[cfg(test)]
mod tests {
    use toml::Value;

    use super::*;

    fn refusal(name: &str) -> Option<String> {
        let settings: Table = super::super::layers::DEFAULTS.parse().unwrap();
        let settings: Table = settings
            .into_iter()
            .filter(|(_, value)| matches!(value, Value::Table(_)))
            .collect();
        refuse_unknown(name, &settings)
            .err()
            .map(|error| error.to_string())
    }

    #[test]
    fn variable_with_one_underscore_is_refused_with_the_right_name() {
        for (wrong, right) in [
            ("MAILLATCH_SERVER_LISTEN", "MAILLATCH_SERVER__LISTEN?"),
            (
                "MAILLATCH_DATABASE_URL_FILE",
                "MAILLATCH_DATABASE__URL_FILE?",
            ),
            ("MAILLATCH_SEAL_FILE", "MAILLATCH_SEAL__FILE?"),
        ] {
            let why = refusal(wrong).unwrap();
            assert!(why.contains(wrong) && why.contains(right), "{why}");
        }
        let why = refusal("MAILLATCH_NONSENSE").unwrap();
        assert!(why.contains("default.toml"), "{why}");
    }

    #[test]
    fn variables_of_clients_and_of_others_are_accepted() {
        for name in OTHERS.into_iter().chain(["PATH", "OTHER_MAILLATCH_X"]) {
            assert_eq!(refusal(name), None, "{name}");
        }
    }
}
