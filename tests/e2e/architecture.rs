//! Which crate may depend on which, no import cycles, and budgets for size.

mod modules;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use modules::Modules;

/// Which of our crates each crate may depend on (outside of tests).
const ARROWS: [(&str, &[&str]); 14] = [
    ("pipeline", &[]),
    ("providers", &["pipeline"]),
    ("extract", &["pipeline"]),
    ("store", &["pipeline"]),
    ("queue", &["pipeline"]),
    ("webhook", &["pipeline", "providers"]),
    ("worker", &["pipeline", "providers", "extract"]),
    ("feed", &["pipeline"]),
    ("poll", &["pipeline", "providers"]),
    ("send", &["pipeline", "providers"]),
    ("client", &["pipeline", "providers"]),
    ("mcp", &["client"]),
    (
        "maillatch",
        &[
            "client",
            "mcp",
            "pipeline",
            "providers",
            "extract",
            "store",
            "queue",
            "webhook",
            "worker",
            "feed",
            "poll",
            "send",
        ],
    ),
    ("testkit", &["pipeline"]),
];

/// The only crates that may use each guarded library.
const GUARDED: [(&str, &[&str]); 11] = [
    // The tests' own databases are copied without the product's code.
    ("sqlx", &["store", "testkit"]),
    ("lapin", &["queue"]),
    ("mail-parser", &["extract"]),
    ("mail-auth", &["worker"]),
    ("actix-web", &["webhook", "feed", "mcp", "maillatch"]),
    (
        "reqwest",
        &["worker", "poll", "send", "client", "maillatch"],
    ),
    ("lettre", &["send"]),
    ("async-imap", &["poll"]),
    ("rmcp", &["mcp"]),
    ("anyhow", &["maillatch"]),
    ("clap", &["maillatch"]),
];

/// Crates without I/O must not depend on an async runtime.
const PURE: [&str; 3] = ["pipeline", "providers", "extract"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Each crate's normal and build dependencies, by name.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    packages
        .iter()
        .map(|package| {
            let all = package["dependencies"].as_array().unwrap();
            let shipped = all.iter().filter(|dependency| dependency["kind"] != "dev");
            (name(package), shipped.map(name).collect())
        })
        .collect()
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    let dependencies = dependencies();
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = dependencies.keys().map(String::as_str).collect();
    assert_eq!(found, ours, "every crate has a row in ARROWS");
    for (name, allowed) in ARROWS {
        for dependency in &dependencies[name] {
            let is_ours = ours.contains(dependency.as_str());
            let is_allowed = allowed.contains(&dependency.as_str());
            assert!(
                !is_ours || is_allowed,
                "{name} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn guarded_libraries_stay_in_their_crates() {
    for (name, dependencies) in dependencies() {
        for (library, users) in GUARDED {
            let uses = dependencies.contains(library);
            assert!(
                !uses || users.contains(&name.as_str()),
                "{name} must not use {library}"
            );
        }
        for runtime in ["tokio", "tokio-util", "reqwest"] {
            let is_pure = PURE.contains(&name.as_str());
            assert!(
                !(is_pure && dependencies.contains(runtime)),
                "{name} must not use {runtime}"
            );
        }
    }
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let skipped = ["target", "tests", "fuzz", "benches", "examples", "testkit"];
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && !skipped.contains(&name) {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests.rs"
        {
            found.push(path);
        }
    }
}

/// Lines up to the file's own tests.
fn code_lines(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .count()
}

#[test]
fn files_stay_within_their_line_budget() {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    assert!(
        files.len() > 50,
        "the walk found too little: {}",
        files.len()
    );
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_ne!(name, "mod.rs", "{}", path.display());
        let banned = [
            "utils.rs",
            "helpers.rs",
            "common.rs",
            "types.rs",
            "misc.rs",
            "manager.rs",
        ];
        assert!(
            !banned.contains(&name),
            "{} is not a name of the domain",
            path.display()
        );
        // The one of `pipeline` is also the list of words that all crates share.
        let budget = if name == "lib.rs" { 90 } else { 300 };
        let lines = code_lines(&path);
        assert!(
            lines <= budget,
            "{} has {lines} lines, budget {budget}",
            path.display()
        );
    }
}

#[test]
fn modules_of_a_crate_do_not_import_each_other_in_a_cycle() {
    let mut found = Vec::new();
    for (name, _) in ARROWS {
        let modules = Modules::read(&root().join("crates").join(name).join("src"));
        let cycles = modules.cycles();
        found.extend(cycles.iter().map(|cycle| format!("{name}: {cycle:?}")));
    }
    assert!(found.is_empty(), "import cycles: {found:#?}");
}

/// How many names each crate may show to the others: what `lib.rs` re-exports.
/// `pipeline` is the vocabulary of all.
const SURFACE: [(&str, usize); 13] = [
    ("pipeline", 207),
    ("providers", 52),
    ("extract", 36),
    ("store", 20),
    ("queue", 6),
    ("webhook", 11),
    ("worker", 19),
    ("feed", 13),
    ("poll", 12),
    ("send", 20),
    ("client", 31),
    ("mcp", 5),
    ("maillatch", 2),
];

#[test]
fn crates_export_no_more_names_than_stated() {
    for (name, most) in SURFACE {
        let modules = Modules::read(&root().join("crates").join(name).join("src"));
        let count = modules.public_names();
        println!("{name}: {count} of {most}");
        assert!(
            count <= most,
            "{name} exports {count} names, at most {most}"
        );
    }
}

#[test]
fn repository_root_contains_only_agreed_entries() {
    let agreed = [
        "Cargo.toml",
        "Cargo.lock",
        "crates",
        "migrations",
        "deploy",
        "tests",
        "README.md",
    ];
    let output = Command::new("git")
        .args(["ls-files"])
        .current_dir(root())
        .output()
        .unwrap();
    let listing = String::from_utf8(output.stdout).unwrap();
    for file in listing.lines() {
        let top = file.split('/').next().unwrap();
        let fits = agreed.contains(&top) || top.starts_with('.') || top.starts_with("LICENSE");
        assert!(fits, "{top} does not belong at the root");
    }
}

#[test]
fn one_tls_provider_and_at_most_350_crates() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "-p",
            "maillatch",
            "-e",
            "normal,build",
            "--prefix",
            "none",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<&str> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    for banned in [
        "aws-lc-rs",
        "aws-lc-sys",
        "openssl",
        "openssl-sys",
        "native-tls",
    ] {
        let found = crates
            .iter()
            .find(|line| line.split(' ').next() == Some(banned));
        assert_eq!(found, None, "a second TLS provider");
    }
    assert!(
        crates.len() <= 350,
        "{} crates are shipped, at most 350",
        crates.len()
    );
}

#[test]
fn migrations_of_both_databases_have_the_same_names() {
    let names = |database: &str| -> BTreeSet<String> {
        let entries = std::fs::read_dir(root().join("migrations").join(database)).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    assert_eq!(names("postgres"), names("sqlite"));
}
