//! Defaults, file, environment, flags. Each layer is merged over the previous ones
//! and the result is checked at once, so an error names the layer it came from.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use toml::{Table, Value};

use super::settings::Config;
use super::{mint_domain, placeholder, variables};

/// The defaults, which are also the documentation of every key.
pub(super) const DEFAULTS: &str = include_str!("../../../../deploy/default.toml");
const PREFIX: &str = variables::PREFIX;

/// Settings given on the command line, as `section.key` and text.
#[derive(Debug, Default, Clone)]
pub(crate) struct Flags(Vec<(&'static str, &'static str, String)>);

impl Flags {
    /// Sets `section.key` when there is a value.
    pub(crate) fn set(&mut self, section: &'static str, key: &'static str, value: Option<String>) {
        self.0.extend(value.map(|value| (section, key, value)));
    }
}

/// Loads the configuration of this process.
pub(crate) fn load(file: Option<&Path>, flags: &Flags) -> Result<Config> {
    let environment = std::env::vars().collect::<Vec<_>>();
    let file = file
        .map(Path::to_path_buf)
        .or_else(|| default_file(&environment));
    merge(file.as_deref(), &environment, flags)
}

/// The file that is read when the command line names none.
fn default_file(environment: &[(String, String)]) -> Option<PathBuf> {
    let named = environment
        .iter()
        .find(|(name, _)| name == "MAILLATCH_CONFIG");
    let here = || Some(PathBuf::from("maillatch.toml")).filter(|path| path.exists());
    named.map(|(_, path)| PathBuf::from(path)).or_else(here)
}

fn merge(file: Option<&Path>, environment: &[(String, String)], flags: &Flags) -> Result<Config> {
    let mut merged: Table = DEFAULTS
        .parse()
        .context("failed to read the built-in defaults")?;
    read(&merged).context("failed to read the built-in defaults")?;
    if let Some(path) = file {
        let name = path.display();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("failed to read {name}"))?;
        let layer: Table = text
            .parse()
            .map_err(|error| anyhow!("{name} is not valid TOML: {}", place(&text, &error)))?;
        overlay(&mut merged, layer);
        read(&merged).with_context(|| format!("{name} is not a valid configuration"))?;
    }
    merge_environment(&mut merged, environment)?;
    for (section, key, text) in &flags.0 {
        let path = [(*section).to_owned(), (*key).to_owned()];
        assign(&mut merged, &path, text)?;
        read(&merged).with_context(|| format!("the flag for {section}.{key} is not valid"))?;
    }
    placeholder::refuse(&merged)?;
    let mut config = read(&merged)?;
    mint_domain::complete(&mut config);
    Ok(config)
}

/// Merges the variables, which may describe a source together. If the result is not valid,
/// the error names the variable without which it would be.
fn merge_environment(merged: &mut Table, environment: &[(String, String)]) -> Result<()> {
    let mut settings = Vec::new();
    for (name, value) in environment {
        let Some(path) = setting_path(name) else {
            variables::refuse_unknown(name, merged)?;
            continue;
        };
        let (path, text) = from_file(path, value)
            .with_context(|| format!("failed to read the file that {name} names"))?;
        settings.push((name, path, text));
    }
    let with = |left_out: Option<usize>| -> Result<Table> {
        let mut table = merged.clone();
        for (index, (name, path, text)) in settings.iter().enumerate() {
            if left_out != Some(index) {
                assign(&mut table, path, text).with_context(|| format!("{name} is not valid"))?;
            }
        }
        Ok(table)
    };
    let complete = with(None)?;
    if let Err(error) = read(&complete) {
        let is_culprit = |index: &usize| with(Some(*index)).is_ok_and(|table| read(&table).is_ok());
        let culprit = (0..settings.len()).find(is_culprit);
        let name = culprit.and_then(|index| settings.get(index));
        return Err(error.context(match name {
            Some((name, ..)) => format!("{name} is not a valid setting"),
            None => "the variables MAILLATCH_… are not valid settings".to_owned(),
        }));
    }
    *merged = complete;
    Ok(())
}

fn read(table: &Table) -> Result<Config> {
    let config: Result<Config, toml::de::Error> = Value::Table(table.clone()).try_into();
    config.map_err(|error| anyhow!("{}", without_values(error.to_string().trim())))
}

/// What is wrong and in which line. The error's own text quotes the line, which may hold
/// a secret.
fn place(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or(1, |before| before.matches('\n').count() + 1);
    format!("line {line}: {}", without_values(error.message()))
}

/// The message of an error without the values that it quotes: `invalid type: string "…",
/// expected …`. A value may be a secret.
fn without_values(message: &str) -> String {
    let mut text = message.to_owned();
    for (quote, end) in [
        ("string \"", "\""),
        ("integer `", "`"),
        ("float `", "`"),
        ("floating point `", "`"),
        ("variant `", "`"),
    ] {
        if let Some((before, rest)) = text.split_once(quote) {
            let expected = rest.rfind(", expected").unwrap_or(rest.len());
            let after = rest.get(expected..).unwrap_or_default();
            text = format!("{before}{quote}…{end}{after}");
        }
    }
    text
}

fn overlay(base: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// `MAILLATCH_SERVER__LISTEN` is `server.listen`. Names without `__` are no settings:
/// they are variables of the client commands.
fn setting_path(name: &str) -> Option<Vec<String>> {
    let rest = name.strip_prefix(PREFIX)?;
    let path: Vec<String> = rest.split("__").map(str::to_lowercase).collect();
    (path.len() > 1).then_some(path)
}

/// A setting whose value is itself a file name.
const NAMES_A_FILE: &str = "ca_file";

/// `…__SECRET_FILE` sets `…__secret` to the content of a file: the usual way to give
/// secrets to containers.
fn from_file(mut path: Vec<String>, value: &str) -> Result<(Vec<String>, String)> {
    let Some(last) = path.last_mut() else {
        bail!("the name is empty");
    };
    let key = last.strip_suffix("_file").map(str::to_owned);
    match key.filter(|_| last != NAMES_A_FILE) {
        Some(key) => {
            *last = key;
            let text = std::fs::read_to_string(value)?;
            Ok((path, text.trim_end().to_owned()))
        }
        None => Ok((path, value.to_owned())),
    }
}

/// Sets a path to a text, converted to the type of the default there.
fn assign(table: &mut Table, path: &[String], text: &str) -> Result<()> {
    let (last, sections) = path
        .split_last()
        .ok_or_else(|| anyhow!("the name is empty"))?;
    let mut at = table;
    for section in sections {
        let below = at
            .entry(section.clone())
            .or_insert_with(|| Value::Table(Table::new()));
        at = below
            .as_table_mut()
            .ok_or_else(|| anyhow!("{section} is not a section"))?;
    }
    let value = typed(at.get(last), text)?;
    at.insert(last.clone(), value);
    Ok(())
}

fn typed(default: Option<&Value>, text: &str) -> Result<Value> {
    let list = || {
        text.split(',')
            .map(|item| Value::String(item.trim().to_owned()))
            .collect()
    };
    match default {
        // The address `[::1]:8080` begins like a list.
        Some(Value::String(_)) => Ok(Value::String(text.to_owned())),
        _ if text.starts_with('[') => parse(text),
        Some(Value::Array(_)) => Ok(Value::Array(list())),
        // Lists of sources and keys have no default that says their type.
        None if text.contains(',') => Ok(Value::Array(list())),
        None => Ok(Value::String(text.to_owned())),
        Some(_) => parse(text),
    }
}

fn parse(text: &str) -> Result<Value> {
    let table: Table = format!("value = {text}")
        .parse()
        .map_err(|_quotes_the_value| anyhow!("not a TOML value"))?;
    table
        .get("value")
        .cloned()
        .ok_or_else(|| anyhow!("not a TOML value"))
}

/// The configuration of this text alone.
#[cfg(test)]
pub(super) fn merge_text(text: &str) -> Result<Config> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), text)?;
    merge(Some(file.path()), &[], &Flags::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_from(environment: &[(&str, &str)], flags: &Flags) -> Result<Config> {
        let environment: Vec<_> = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        merge(None, &environment, flags)
    }

    #[test]
    fn the_defaults_are_a_valid_configuration() {
        let config = load_from(&[], &Flags::default()).unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:8080");
    }

    #[test]
    fn address_in_brackets_is_a_text() {
        let environment = [("MAILLATCH_SERVER__OPS_LISTEN", "[::1]:9090")];
        let mut flags = Flags::default();
        flags.set("server", "listen", Some("[::1]:8080".to_owned()));
        let server = load_from(&environment, &flags).unwrap().server;
        let listen = (server.listen.as_str(), server.ops_listen());
        assert_eq!(listen, ("[::1]:8080", "[::1]:9090".to_owned()));
    }

    #[test]
    fn flags_override_the_environment_which_overrides_defaults() {
        let environment = [
            ("MAILLATCH_SERVER__LISTEN", "127.0.0.1:1"),
            ("MAILLATCH_WORKER__CONCURRENCY", "7"),
            ("MAILLATCH_INBOX__DOMAINS", "a.test, b.test"),
            ("MAILLATCH_URL", "http://not.a.setting"),
        ];
        let mut flags = Flags::default();
        flags.set("server", "listen", Some("127.0.0.1:2".to_owned()));
        let config = load_from(&environment, &flags).unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:2");
        assert_eq!(config.worker.concurrency, 7);
        assert_eq!(config.inbox.domains, ["a.test", "b.test"]);
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let error = load_from(&[("MAILLATCH_SERVER__LISTN", "x")], &Flags::default()).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.contains("MAILLATCH_SERVER__LISTN") && text.contains("listn"),
            "{text}"
        );
    }

    #[test]
    fn variables_can_describe_a_whole_source() {
        let environment = [
            ("MAILLATCH_SOURCE__SHOP__API_KEY", "a-key"),
            ("MAILLATCH_SOURCE__SHOP__DOMAINS", "[\"shop.dev\"]"),
            ("MAILLATCH_SOURCE__SHOP__PROVIDER", "resend"),
        ];
        let config = load_from(&environment, &Flags::default()).unwrap();
        assert_eq!(config.source["shop"].provider, "resend");
        let [key, domains, _] = environment;
        let error = load_from(&[key, domains], &Flags::default()).unwrap_err();
        assert!(format!("{error:#}").contains("missing field `provider`"));
    }

    #[test]
    fn a_file_variable_sets_the_value_to_the_content_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        std::fs::write(&path, "s".repeat(40) + "\n").unwrap();
        let environment = [("MAILLATCH_SERVER__SECRET_FILE", path.to_str().unwrap())];
        let config = load_from(&environment, &Flags::default()).unwrap();
        assert_eq!(config.server.secret(), "s".repeat(40));
    }

    #[test]
    fn ca_file_keeps_the_file_name_as_its_value() {
        let environment = [("MAILLATCH_QUEUE__CA_FILE", "/nowhere/ca.pem")];
        let config = load_from(&environment, &Flags::default()).unwrap();
        assert_eq!(config.queue.ca_file, "/nowhere/ca.pem");
    }

    #[test]
    fn error_names_the_key_and_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("maillatch.toml");
        for text in [
            "[server]\nsecret = \"canary\nlisten = 1\n",
            "[source.a]\nprovider = \"relay\"\nsecrets = \"canary\"\n",
            "[source.a]\nprovider = \"relay\"\nsecrets = \"canary\\\" x, canary\"\n",
            "[server]\nsecret = 731731\n",
            "[log]\nformat = \"canary\"\n",
            "[database]\nurl = [\"canary\"]\n",
        ] {
            std::fs::write(&path, text).unwrap();
            let error = merge(Some(&path), &[], &Flags::default()).unwrap_err();
            let shown = format!("{error:#} {error:?}");
            assert!(
                !shown.contains("canary") && !shown.contains("731731"),
                "{shown}"
            );
            assert!(shown.contains("maillatch.toml"), "{shown}");
        }
        let environment = [("MAILLATCH_SERVER__THREADS", "[canary")];
        let error = load_from(&environment, &Flags::default()).unwrap_err();
        assert!(!format!("{error:#} {error:?}").contains("canary"));
    }

    #[test]
    fn a_file_overrides_the_defaults_key_by_key() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("maillatch.toml");
        std::fs::write(&path, "[worker]\nlease = \"5s\"\n").unwrap();
        let config = merge(Some(&path), &[], &Flags::default()).unwrap();
        assert_eq!(config.worker.lease.0.as_secs(), 5);
        assert_eq!(config.worker.concurrency, 128);
        std::fs::write(&path, "[wroker]\n").unwrap();
        let error = merge(Some(&path), &[], &Flags::default()).unwrap_err();
        assert!(format!("{error:#}").contains("wroker"));
    }
}
