//! The documents for users: every command in them runs, every link leads somewhere,
//! and they keep to their limits.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use testkit::wait;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::harness::binary;

/// The documents that this crate answers for.
const DOCUMENTS: [&str; 3] = [
    "README.md",
    "crates/maillatch/README.md",
    "deploy/README.md",
];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn read(document: &str) -> String {
    std::fs::read_to_string(root().join(document)).unwrap()
}

/// A fenced block: what stands after its opening fence, and its text.
struct Snippet {
    info: String,
    text: String,
}

fn snippets(document: &str) -> Vec<Snippet> {
    let mut found = Vec::new();
    let mut open: Option<Snippet> = None;
    for line in read(document).lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Snippet {
                    info: info.to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some(snippet)) => snippet.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{document}: a fence is not closed");
    found
}

/// The document without its fenced blocks.
fn prose(document: &str) -> String {
    let text = read(document);
    let outside = text.split("```").step_by(2);
    outside.collect::<Vec<_>>().join("\n")
}

/// Inline code: what stands between single backticks.
fn inline_code(document: &str) -> Vec<String> {
    let prose = prose(document);
    let inside = prose
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    inside.map(str::to_owned).collect()
}

/// A directory that a new user works in, and the programs that they have.
struct NewUser {
    dir: tempfile::TempDir,
}

impl NewUser {
    /// `cargo install` would compile for minutes: a stand-in checks its arguments and
    /// links the binary under test to where cargo would install it.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["bin", "stand-ins", "work"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let script = format!(
            "#!/bin/sh\n[ \"$*\" = 'install --locked --path crates/maillatch' ] || exit 9\n\
             test -f '{root}/crates/maillatch/Cargo.toml' && ln -s '{binary}' '{bin}/maillatch'\n",
            root = root().display(),
            binary = binary().display(),
            bin = dir.path().join("bin").display(),
        );
        let cargo = dir.path().join("stand-ins/cargo");
        std::fs::write(&cargo, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&cargo, mode).unwrap();
        Self { dir }
    }

    fn bash(&self, script: &str) -> Command {
        let path = format!(
            "{0}/stand-ins:{0}/bin:/usr/local/bin:/usr/bin:/bin",
            self.dir.path().display()
        );
        let mut command = Command::new("bash");
        command
            .args(["-euo", "pipefail", "-c", script])
            .current_dir(self.dir.path().join("work"))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.dir.path())
            // Port 8080 may be taken on the machine that tests.
            .env("MAILLATCH_SERVER__LISTEN", "127.0.0.1:0");
        command
    }

    async fn run(&self, script: &str) -> String {
        let mut command = self.bash(script);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let Output {
            status,
            stdout,
            stderr,
        } = output.await.unwrap();
        let stderr = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "{script}\n{status}: {stderr}");
        String::from_utf8(stdout).unwrap()
    }

    /// Starts a server and returns when it is ready.
    async fn serve(&self, script: &str) -> tokio::process::Child {
        let script = format!("exec {script}");
        let mut command = tokio::process::Command::from(self.bash(&script));
        command.stderr(Stdio::piped()).kill_on_drop(true);
        let mut server = command.spawn().unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        loop {
            let line = wait::soon("the server is ready", lines.next_line()).await;
            let line = line.unwrap().unwrap();
            if line.starts_with("Ready on ") {
                break;
            }
        }
        // Whoever writes to a closed pipe fails, so what follows is read, too.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        server
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_snippet_of_the_readme_runs_and_prints_what_it_says() {
    let user = NewUser::new();
    let mut servers = Vec::new();
    let mut printed = Vec::new();
    let mut demo = String::new();
    for Snippet { info, text } in snippets("README.md") {
        match info.as_str() {
            "sh" => printed.push(user.run(&text).await),
            "sh server" => servers.push(user.serve(&text).await),
            "sh demo" => demo = user.run(&text).await,
            "text" => assert_eq!(without_numbers(&demo), without_numbers(&text)),
            other => panic!("nothing runs a snippet of `{other}`"),
        }
    }
    let [install, code, agent, source] = printed.as_slice() else {
        panic!("other snippets than expected: {printed:?}");
    };
    assert_eq!(install, "");
    assert!(is_code(code.trim_end()), "{code}");
    let [attempt, end] = agent.lines().collect::<Vec<_>>()[..] else {
        panic!("{agent}");
    };
    assert!(is_code(attempt), "{agent}");
    assert_eq!(end, "succeeded");
    assert_eq!(source, "");
    let settings = std::fs::read_to_string(user.dir.path().join("work/maillatch.toml")).unwrap();
    assert!(
        settings.contains("[source.standard-webhooks]"),
        "{settings}"
    );
}

fn is_code(line: &str) -> bool {
    line.len() == 6 && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// Text with every number as `#`: times, sizes and random values differ.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if !c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('#') {
            out.push('#');
        }
    }
    out.lines()
        .map(|line| line.trim().to_owned() + "\n")
        .collect()
}

#[test]
fn every_command_in_the_text_of_a_document_exists() {
    let dir = tempfile::tempdir().unwrap();
    for document in DOCUMENTS {
        let commands: Vec<String> = inline_code(document)
            .into_iter()
            .filter_map(|code| code.strip_prefix("maillatch ").map(str::to_owned))
            .filter(|code| !code.starts_with("COMMAND"))
            .collect();
        assert!(commands.len() > 3, "{document}: {commands:?}");
        for command in commands {
            let output = Command::new(binary())
                .args(command.split_whitespace())
                .arg("--help")
                .current_dir(dir.path())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{document}: {command}: {said}");
        }
    }
}

#[test]
fn every_link_in_a_document_leads_to_a_file() {
    for document in DOCUMENTS {
        let text = read(document);
        let folder = root().join(document).parent().unwrap().to_owned();
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        let files: Vec<&str> = links.filter(|link| !link.contains("://")).collect();
        assert!(!files.is_empty(), "{document} has no links");
        for link in files {
            let path = link.split('#').next().unwrap();
            assert!(folder.join(path).exists(), "{document}: {link}");
        }
    }
}

#[test]
fn documents_keep_their_limits_of_words_paragraphs_and_sentences() {
    let words = |text: &str| text.split_whitespace().count();
    let count = words(&read("README.md"));
    assert!(count <= 1_000, "README.md has {count} words, at most 1000");
    for document in DOCUMENTS {
        let prose = prose(document);
        // A table's cell and an item of a list are read as paragraphs.
        let rows = prose.lines().filter(|line| line.starts_with('|'));
        let cells = rows.flat_map(|row| row.split('|').map(str::to_owned));
        let text: Vec<&str> = prose
            .lines()
            .filter(|line| !line.starts_with('|'))
            .collect();
        let text = text.join("\n").replace("\n* ", "\n\n* ");
        let paragraphs = text.split("\n\n").map(|one| one.replace('\n', " "));
        for paragraph in paragraphs.chain(cells) {
            let count = words(&paragraph);
            assert!(count <= 80, "{document}: {count} words: {paragraph}");
            for sentence in paragraph.split_inclusive(". ") {
                let count = words(sentence);
                assert!(count <= 30, "{document}: {count} words: {sentence}");
            }
        }
    }
}
