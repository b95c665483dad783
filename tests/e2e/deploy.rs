//! What `deploy/` hands out: a release archive that works on a machine without Rust, the
//! operations guide followed literally, and the compose file.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::server::shared_url;
use tokio::sync::OnceCell;

use crate::harness::binary;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// Runs a script of the repository and returns what it prints.
async fn run(script: &str, args: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = tokio::process::Command::new(root().join(script));
    command.args(args).envs(variables.iter().copied());
    let output = command.kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{script}: {printed}\n{said}");
    printed
}

/// The archive of the binary under test, built once for all tests.
async fn archive() -> &'static str {
    static ARCHIVE: OnceCell<(tempfile::TempDir, String)> = OnceCell::const_new();
    let build = async || {
        let dir = tempfile::tempdir().unwrap();
        // Without symbols, as in a release, and without much compression: a debug binary is
        // large.
        let stripped = dir.path().join("stripped");
        let mut strip = tokio::process::Command::new("strip");
        strip.arg("-o").arg(&stripped).arg(binary());
        assert!(strip.status().await.unwrap().success());
        let (out, binary) = (dir.path().to_str().unwrap(), stripped.to_str().unwrap());
        let args = ["--out", out, "--binary", binary];
        let printed = run("deploy/release", &args, &[("GZIP", "-1")]).await;
        (dir, printed.trim().to_owned())
    };
    &ARCHIVE.get_or_init(build).await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn archive_gives_a_code_within_a_minute_in_an_empty_root_directory() {
    let printed = run("tests/deploy/first-code", &[archive().await], &[]).await;
    assert!(printed.contains("code"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_guide_works_literally_in_an_empty_root_directory() {
    let id = uuid::Uuid::now_v7().simple().to_string();
    let mut url = url::Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
    url.set_path(&format!("guide_{id}"));
    store::create_database(&url.as_str().into()).await.unwrap();
    let (amqp, queue) = (shared_url("TEST_AMQP_URL"), format!("guide_{id}"));
    let variables = [
        ("DATABASE_URL", url.as_str()),
        ("AMQP_URL", amqp.as_str()),
        ("QUEUE", queue.as_str()),
    ];
    let printed = run("tests/deploy/guide", &[archive().await], &variables).await;
    assert_eq!(
        printed.matches("code from the feed").count(),
        4,
        "{printed}"
    );
    store::drop_database(&url.as_str().into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn archive_is_complete_checked_and_where_binstall_looks() {
    let archive = Path::new(archive().await);
    let listing = Command::new("tar")
        .arg("tzf")
        .arg(archive)
        .output()
        .unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    let name = archive.file_name().unwrap().to_str().unwrap();
    let name = name.strip_suffix(".tar.gz").unwrap();
    for file in [
        "maillatch",
        "install",
        "backup",
        "default.toml",
        "README.md",
        "operations.md",
        "SHA256SUMS",
        "sbom.spdx",
        "man/maillatch.1",
        "completions/maillatch.bash",
        "completions/maillatch.fish",
        "completions/maillatch.zsh",
        "systemd/maillatch.service",
        "systemd/maillatch-.service.d/role.conf",
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ] {
        let line = format!("{name}/{file}");
        assert!(listing.lines().any(|one| one == line), "{line}: {listing}");
    }

    let manifest = std::fs::read_to_string(root().join("crates/maillatch/Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let metadata = &manifest["package"]["metadata"]["binstall"];
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let filled = |field: &str| {
        let template = metadata[field].as_str().unwrap();
        let values = [
            ("name", "maillatch"),
            ("bin", "maillatch"),
            ("version", env!("CARGO_PKG_VERSION")),
            ("target", target.as_str()),
            ("binary-ext", ""),
        ];
        values
            .iter()
            .fold(template.to_owned(), |text, (key, value)| {
                text.replace(&format!("{{ {key} }}"), value)
            })
    };
    let url = filled("pkg-url");
    assert!(url.ends_with(&format!("/{name}.tar.gz")), "{url}");
    assert_eq!(filled("bin-dir"), format!("{name}/maillatch"));
    let workflow = root().join(".github/workflows/release.yaml");
    let workflow = std::fs::read_to_string(workflow).unwrap();
    for command in ["deploy/release", "tests/deploy/first-code"] {
        assert!(workflow.contains(command), "{command}");
        assert!(root().join(command).exists(), "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_file_in_an_archive_is_not_installed() {
    let dir = tempfile::tempdir().unwrap();
    let status = Command::new("tar")
        .args(["xzf", archive().await])
        .current_dir(dir.path())
        .status();
    assert!(status.unwrap().success());
    let stage = std::fs::read_dir(dir.path()).unwrap().next().unwrap();
    let stage = stage.unwrap().path();
    std::fs::write(stage.join("default.toml"), "changed").unwrap();
    let prefix = dir.path().join("prefix");
    let output = Command::new(stage.join("install"))
        .arg("--prefix")
        .arg(&prefix)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(!prefix.exists());
}

/// The lines of each service of the compose file, by its name.
fn services(compose: &str) -> Vec<(String, String)> {
    let (_, rest) = compose.split_once("\nservices:\n").unwrap();
    let (block, _) = rest.split_once("\nvolumes:\n").unwrap();
    let mut services: Vec<(String, String)> = Vec::new();
    for line in block.lines() {
        let name = line
            .strip_prefix("  ")
            .filter(|it| !it.starts_with([' ', '#']));
        match name.and_then(|name| name.strip_suffix(':')) {
            Some(name) => services.push((name.to_owned(), String::new())),
            None => {
                if let Some((_, lines)) = services.last_mut() {
                    lines.extend([line, "\n"]);
                }
            }
        }
    }
    services
}

#[test]
fn compose_file_has_two_of_each_role_behind_tls_with_fixed_images_and_bounded_logs() {
    let compose = std::fs::read_to_string(root().join("deploy/compose.yaml")).unwrap();
    let (role, _) = compose.split_once("\nservices:\n").unwrap();
    assert!(role.contains("replicas: 2") && role.contains("logging: *logging"));
    let services = services(&compose);
    for wanted in ["webhook", "worker", "poll", "feed"] {
        let (_, lines) = services.iter().find(|(name, _)| name == wanted).unwrap();
        assert!(lines.contains("<<: *role"), "{wanted}");
        // No setting of its own takes the place of the two containers and the log's limit.
        for key in ["deploy:", "logging:", "ports:"] {
            assert!(!lines.contains(key), "{wanted} {key}");
        }
    }
    for (name, lines) in &services {
        let is_role = lines.contains("<<: *role");
        assert!(is_role || lines.contains("logging: *logging"), "{name}");
        assert_eq!(lines.contains("ports:"), name == "proxy", "{name}");
    }
    let dockerfile = std::fs::read_to_string(root().join("deploy/Dockerfile")).unwrap();
    let images = compose
        .lines()
        .chain(dockerfile.lines())
        .filter_map(|line| {
            let line = line.trim_start();
            let image = line
                .strip_prefix("image: ")
                .or_else(|| line.strip_prefix("FROM "))?;
            image
                .split(' ')
                .next()
                .filter(|image| *image != "maillatch:local")
        });
    for image in images {
        // postgres:17 is another image each month; postgres:17.6 is not.
        let (_, tag) = image.split_once(':').unwrap();
        let version = tag.split('-').next().unwrap();
        assert!(version.split('.').count() >= 2, "{image}");
    }
}
