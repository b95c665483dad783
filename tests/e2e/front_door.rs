//! What leads an agent to the server: the variables for a shell, the configuration of a
//! client, and the documents for models.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Harness, Role, binary};

/// A folder that looks like one where `maillatch up` has run.
fn started_in() -> TempDir {
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("maillatch-data");
    std::fs::create_dir(&data).unwrap();
    let env = "MAILLATCH_URL=http://127.0.0.1:9\nMAILLATCH_KEY=mlk_secret\n";
    std::fs::write(data.join("dev.env"), env).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(args).current_dir(folder);
    for name in ["MAILLATCH_URL", "MAILLATCH_KEY"] {
        command.env_remove(name);
    }
    command.env("HOME", folder).output().unwrap()
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

#[test]
fn env_is_read_by_a_shell() {
    let folder = started_in();
    let shell = "eval \"$(\"$0\" env)\" && printf '%s %s' \"$MAILLATCH_URL\" \"$MAILLATCH_KEY\"";
    let output = Command::new("sh")
        .args(["-c", shell])
        .arg(binary())
        .current_dir(folder.path())
        .env_remove("MAILLATCH_URL")
        .env_remove("MAILLATCH_KEY")
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "http://127.0.0.1:9 mlk_secret");
}

#[test]
fn install_prints_the_configuration_without_a_key() {
    let folder = started_in();
    let places = [
        ("claude", "mcpServers"),
        ("cursor", "mcpServers"),
        ("vscode", "servers"),
    ];
    for (client, list) in places {
        let output = run(folder.path(), &["mcp", "install", "--client", client]);
        assert!(output.status.success(), "{output:?}");
        let printed = text(&output.stdout);
        assert!(!printed.contains("mlk_"), "{printed}");
        let printed: Value = serde_json::from_str(&printed).unwrap();
        let entry = &printed[list]["maillatch"];
        assert_eq!(entry["command"], binary().to_str().unwrap());
        assert_eq!(entry["args"][0], "mcp");
        assert_eq!(entry["args"][1], "--data-dir");
    }
    let output = run(folder.path(), &["mcp", "install", "--client", "codex"]);
    let printed: toml::Table = text(&output.stdout).parse().unwrap();
    let entry = &printed["mcp_servers"]["maillatch"];
    assert_eq!(entry["command"].as_str(), binary().to_str());
    // Nothing was written.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn install_writes_beside_other_servers_and_twice_the_same() {
    let folder = started_in();
    let file = folder.path().join(".cursor/mcp.json");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"{"mcpServers":{"other":{"command":"x"}},"y":1}"#).unwrap();
    let install = ["mcp", "install", "--client", "cursor", "--write"];
    assert!(run(folder.path(), &install).status.success());
    let first = std::fs::read_to_string(&file).unwrap();
    let read: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(read["mcpServers"]["other"]["command"], "x");
    assert_eq!(read["y"], 1);
    assert_eq!(read["mcpServers"]["maillatch"]["args"][0], "mcp");
    assert!(run(folder.path(), &install).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);

    let file = folder.path().join(".codex/config.toml");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "# mine\nmodel = \"x\"\n").unwrap();
    let install = ["mcp", "install", "--client", "codex", "--write"];
    assert!(run(folder.path(), &install).status.success());
    let first = std::fs::read_to_string(&file).unwrap();
    assert!(first.starts_with("# mine\nmodel = \"x\"\n"), "{first}");
    assert!(!run(folder.path(), &install).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
}

#[test]
fn install_leaves_a_file_alone_that_it_cannot_read() {
    let folder = started_in();
    let file = folder.path().join(".mcp.json");
    for unreadable in ["{ // comment\n}", "[]", r#"{"mcpServers":[]}"#] {
        std::fs::write(&file, unreadable).unwrap();
        let install = ["mcp", "install", "--client", "claude", "--write"];
        let output = run(folder.path(), &install);
        assert!(!output.status.success(), "{output:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), unreadable);
    }
}

/// Runs `mcp install --write` for Claude, and returns what it says when it fails.
fn refusal(folder: &Path) -> String {
    let install = ["mcp", "install", "--client", "claude", "--write"];
    let output = run(folder, &install);
    assert!(!output.status.success(), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("is left as it is"), "{said}");
    said
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn install_refuses_a_file_whose_bytes_are_no_text() {
    let folder = started_in();
    let file = folder.path().join(".mcp.json");
    let latin = b"{\"mcpServers\":{\"caf\xe9\":{\"command\":\"x\"}}}";
    std::fs::write(&file, latin).unwrap();
    let said = refusal(folder.path());
    assert!(said.contains(".mcp.json"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), latin);
    assert_eq!(names(folder.path()), [".mcp.json", "maillatch-data"]);
}

#[test]
fn install_refuses_a_folder_and_a_link_to_nothing() {
    let folder = started_in();
    let file = folder.path().join(".mcp.json");
    std::fs::create_dir(&file).unwrap();
    refusal(folder.path());
    std::fs::remove_dir(&file).unwrap();
    std::os::unix::fs::symlink("missing.json", &file).unwrap();
    refusal(folder.path());
    let linked = std::fs::read_link(&file).unwrap();
    assert_eq!(linked, Path::new("missing.json"));
    assert_eq!(names(folder.path()), [".mcp.json", "maillatch-data"]);
}

#[test]
fn install_keeps_the_mode_and_replaces_the_file_in_one_step() {
    let folder = started_in();
    let file = folder.path().join(".mcp.json");
    let before = r#"{"mcpServers":{"other":{"env":{"KEY":"secret"}}}}"#;
    let install = ["mcp", "install", "--client", "claude", "--write"];
    for mode in [0o600, 0o640, 0o666] {
        let _ = std::fs::remove_file(&file);
        std::fs::write(&file, before).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        // A reader that has the file open, or another name of it, sees the old text.
        let old = folder.path().join(format!("old-{mode:o}"));
        std::fs::hard_link(&file, &old).unwrap();
        assert!(run(folder.path(), &install).status.success());
        let permissions = std::fs::metadata(&file).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o7777, mode, "{mode:o}");
        assert_eq!(std::fs::read_to_string(&old).unwrap(), before);
        let after: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(after["mcpServers"]["other"]["env"]["KEY"], "secret");
        assert_eq!(after["mcpServers"]["maillatch"]["args"][0], "mcp");
    }
    let left = [
        ".mcp.json",
        "maillatch-data",
        "old-600",
        "old-640",
        "old-666",
    ];
    assert_eq!(names(folder.path()), left);
}

#[test]
fn install_changes_the_file_that_a_link_names() {
    let folder = started_in();
    let target = folder.path().join("dotfiles/mcp.json");
    std::fs::create_dir(target.parent().unwrap()).unwrap();
    std::fs::write(&target, "{}").unwrap();
    let file = folder.path().join(".mcp.json");
    std::os::unix::fs::symlink("dotfiles/mcp.json", &file).unwrap();
    let install = ["mcp", "install", "--client", "claude", "--write"];
    assert!(run(folder.path(), &install).status.success());
    let linked = std::fs::read_link(&file).unwrap();
    assert_eq!(linked, Path::new("dotfiles/mcp.json"));
    let after: Value = serde_json::from_slice(&std::fs::read(&target).unwrap()).unwrap();
    assert_eq!(after["mcpServers"]["maillatch"]["args"][0], "mcp");
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_for_models_are_served_without_a_key() {
    let harness = Harness::embedded().await;
    let url = harness.deployment.url(Role::Feed, 0).unwrap();
    for (path, begins, contains) in [
        ("llms.txt", "# Maillatch", "/v1/attempts"),
        ("SKILL.md", "---\nname: maillatch", "start_attempt"),
    ] {
        let answer = reqwest::get(url.join(path).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let kind = answer.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        assert!(kind.starts_with("text/"), "{kind}");
        let document = answer.text().await.unwrap();
        assert!(document.starts_with(begins), "{document}");
        assert!(document.contains(contains), "{path}");
    }
    harness.end().await;
}
