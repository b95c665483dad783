//! The commands of `deploy/README.md`, run on a machine that is a directory: its `/etc` and
//! `/usr/local` are below it. Stand-ins for `systemctl`, `docker` and `groupadd` check what
//! they are asked for against what the commands before have written.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use testkit::server::{Server, shared_url};
use testkit::wait;

use crate::harness::binary;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

fn document() -> String {
    std::fs::read_to_string(root().join("deploy/README.md")).unwrap()
}

/// The fenced blocks, each with the heading above it.
fn snippets() -> Vec<(String, String)> {
    let (mut found, mut heading) = (Vec::new(), String::new());
    let mut open: Option<String> = None;
    for line in document().lines() {
        match (line.starts_with("```"), &mut open) {
            (true, None) => open = Some(String::new()),
            (true, Some(_)) => found.push((heading.clone(), open.take().unwrap())),
            (false, Some(text)) => text.extend([line, "\n"]),
            (false, None) => {
                if let Some(name) = line.strip_prefix("## ") {
                    name.clone_into(&mut heading);
                }
            }
        }
    }
    found
}

/// The snippets below a heading.
fn below(heading: &str) -> Vec<String> {
    let of_heading = |(above, text): (String, String)| (above == heading).then_some(text);
    snippets().into_iter().filter_map(of_heading).collect()
}

/// A unit that is started must be installed, and what it starts must be there.
const SYSTEMCTL: &str = r#"
units="$MACHINE/etc/systemd/system"
act=$1
shift
case "$act" in
    daemon-reload) ;;
    enable | restart)
        if [[ $1 == --now ]]; then shift; fi
        for unit in "$@"; do
            file="$units/${unit%@*}"
            if [[ $unit == *@* ]]; then file="$file@"; fi
            file="$file.service"
            [[ -f $file ]] || { echo "no unit $file" >&2; exit 1; }
            start=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$file" | head -n 1)
            [[ -x $MACHINE$start ]] || { echo "no program $start" >&2; exit 1; }
            settings=("$file")
            if [[ $unit == maillatch-* ]]; then settings+=("$units/maillatch-.service.d/role.conf"); fi
            sed -n 's/^LoadCredential=[^:]*:\(.*\)/\1/p' "${settings[@]}" | while read -r needed; do
                [[ -e $MACHINE$needed ]] || { echo "no $needed for $unit" >&2; exit 1; }
            done
            echo "$unit" >>"$MACHINE/started"
        done
        ;;
    *) echo "unexpected: systemctl $act $*" >&2; exit 1 ;;
esac
"#;

/// Instead of containers one process serves with the secrets that were made for them.
const DOCKER: &str = r#"
[[ $* == "compose -f deploy/compose.yaml up --build" ]] || exit 9
sed -n 's/^ *file: *//p' deploy/compose.yaml | while read -r file; do
    [[ -s deploy/$file ]] || { echo "compose.yaml needs $file" >&2; exit 1; }
done
MAILLATCH_CONFIG=deploy/secrets/maillatch.toml \
    MAILLATCH_SEAL__FILE=deploy/secrets/seal/seal.keys \
    MAILLATCH_SERVER__SECRET_FILE=deploy/secrets/server_secret \
    MAILLATCH_DATA__DIR="$MACHINE/data" \
    maillatch up --json --listen 127.0.0.1:0 >"$MACHINE/ready" 2>"$MACHINE/log" &
echo $! >"$MACHINE/pid"
for _ in $(seq 600); do
    if [[ -s $MACHINE/ready ]]; then exit 0; fi
    sleep 0.1
done
cat "$MACHINE/log" >&2
exit 1
"#;

/// The port 8080 may be taken on the machine that tests.
const CURL: &str = r#"
url=$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$MACHINE/ready")
exec /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin curl "${@//http:\/\/127.0.0.1:8080/$url}"
"#;

/// A machine that is a directory.
struct Machine {
    dir: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for folder in [
            "bin",
            "work/target/release",
            "etc/systemd/system",
            "usr/local/bin",
        ] {
            std::fs::create_dir_all(machine.dir.path().join(folder)).unwrap();
        }
        let copied = Command::new("cp")
            .arg("-r")
            .arg(root().join("deploy"))
            .arg(machine.dir.path().join("work/"))
            .status()
            .unwrap();
        assert!(copied.success());
        let ours = machine.dir.path().join("work/deploy/secrets");
        let _ = std::fs::remove_dir_all(ours);
        // The binary of a test is large, and it is installed several times.
        for place in ["bin", "work/target/release", "work"] {
            machine.program(
                place,
                "maillatch",
                &format!("exec '{}' \"$@\"\n", binary().display()),
            );
        }
        machine.program("work", "maillatch.previous", "exit 0\n");
        machine.stand_in("systemctl", SYSTEMCTL);
        machine.stand_in("docker", DOCKER);
        machine.stand_in("curl", CURL);
        machine.stand_in("groupadd", "[[ $* == '--system maillatch-seal' ]]\n");
        machine
    }

    fn stand_in(&self, name: &str, script: &str) {
        self.program("bin", name, script);
    }

    fn program(&self, place: &str, name: &str, script: &str) {
        let file = self.path(place).join(name);
        std::fs::write(
            &file,
            format!("#!/usr/bin/env bash\nset -euo pipefail\n{script}"),
        )
        .unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path("work").join(file), text).unwrap();
    }

    /// Runs a snippet as it is written, with the directories of this machine.
    async fn run(&self, snippet: &str) -> String {
        let machine = self.dir.path().display().to_string();
        let own_group = Command::new("id").arg("-gn").output().unwrap().stdout;
        let own_group = String::from_utf8(own_group).unwrap();
        let script = snippet
            .replace(" /etc/", &format!(" {machine}/etc/"))
            .replace(" /usr/local/", &format!(" {machine}/usr/local/"))
            .replace("-g maillatch-seal", &format!("-g {}", own_group.trim()));
        let mut command = Command::new("bash");
        command
            .args(["-euo", "pipefail", "-c", &script])
            .current_dir(self.path("work"))
            .env_clear()
            .env("MACHINE", &machine)
            .env(
                "PATH",
                format!("{machine}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
            )
            .stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap());
        let output = output.await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}\n{said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn started(&self) -> Vec<String> {
        let started = std::fs::read_to_string(self.path("started")).unwrap_or_default();
        started.lines().map(str::to_owned).collect()
    }

    /// The units are valid, as far as systemd says without running them.
    fn verify_units(&self, units: &[&str]) {
        let mut verify = Command::new("systemd-analyze");
        let folder = self.path("etc/systemd/system");
        verify
            .arg("verify")
            .args(["--man=no", "--recursive-errors=no"]);
        verify.args(units.iter().map(|unit| folder.join(unit)));
        let Ok(output) = verify.output() else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr);
        // The programs are below the directory of this machine.
        let faults = said.lines().filter(|line| {
            let is_ours = line.contains("maillatch");
            is_ours && !line.contains("is not executable") && !line.contains("ExecStart")
        });
        assert_eq!(faults.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Ok(pid) = std::fs::read_to_string(self.path("pid")) {
            let _ = Command::new("kill").args(["-KILL", pid.trim()]).status();
        }
    }
}

/// A new snippet needs a test here.
#[test]
fn every_snippet_of_the_document_is_run() {
    let mut headings: Vec<String> = snippets().into_iter().map(|(above, _)| above).collect();
    headings.dedup();
    // The snippets of `Install` are run by the test of the release archive.
    assert_eq!(headings, ["Install", "Compose", "systemd", "RabbitMQ"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn compose_snippet_makes_secrets_that_a_server_accepts() {
    let machine = Machine::new();
    let [snippet] = below("Compose").try_into().unwrap();
    let printed = machine.run(&snippet).await;
    assert!(
        printed.contains("minted  deploy/secrets/server_secret"),
        "{printed}"
    );
    assert!(printed.contains("\"ready\":true"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn systemd_snippets_install_and_start_every_unit() {
    let [embedded, full] = below("systemd").try_into().unwrap();
    let machine = Machine::new();
    machine.write("maillatch.toml", "");
    machine.run(&embedded).await;
    assert_eq!(machine.started(), ["maillatch"]);
    machine.verify_units(&["maillatch.service"]);

    let machine = Machine::new();
    for (file, text) in [
        ("server_secret", "0123456789abcdef0123456789abcdef"),
        ("database_url", "postgres://maillatch@127.0.0.1/maillatch"),
        ("queue_url", "amqp://127.0.0.1"),
    ] {
        machine.write(file, text);
    }
    machine.write("maillatch.toml", "");
    machine.run(&full).await;
    let started = machine.started();
    for role in ["webhook@", "feed@", "worker@", "poll@"] {
        let unit = format!("maillatch-{role}");
        assert!(
            started.iter().any(|one| one.starts_with(&unit)),
            "{started:?}"
        );
    }
    let keys = std::fs::read_to_string(machine.path("etc/maillatch/seal/seal.keys")).unwrap();
    assert_eq!(keys.trim().len(), 44, "32 bytes in base64");
    let mode = std::fs::metadata(machine.path("etc/maillatch/database_url")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    machine.verify_units(&["maillatch-migrate.service", "maillatch-webhook@.service"]);
    updates_run_as_written(&machine).await;
}

/// The commands in the tables of `Updates`, on a machine with the units of the full profile.
async fn updates_run_as_written(machine: &Machine) {
    let document = document();
    let (_, updates) = document.split_once("## Updates").unwrap();
    let (updates, _) = updates.split_once("\n## ").unwrap();
    let commands: Vec<&str> = updates
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|code| code.starts_with("install ") || code.starts_with("systemctl "))
        .collect();
    assert!(commands.len() >= 5, "{commands:?}");
    for command in commands {
        machine.run(command).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_queue_is_declared_again_and_loses_nothing() {
    let [snippet] = below("RabbitMQ").try_into().unwrap();
    let broker = Server::rabbitmq();
    let mut database = url::Url::parse(&shared_url("TEST_DATABASE_URL")).unwrap();
    database.set_path(&format!("e2e_{}", uuid::Uuid::now_v7().simple()));
    store::create_database(&database.as_str().into())
        .await
        .unwrap();
    let machine = Machine::new();
    machine.write(
        "maillatch.toml",
        "server.secret = \"0123456789abcdef0123456789abcdef\"\n\
         seal.keys = [\"CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=\"]\n",
    );
    let maillatch = |args: &[&str]| {
        let mut command = tokio::process::Command::new(binary());
        command
            .args(args)
            .args([
                "--database-url",
                database.as_str(),
                "--amqp-url",
                broker.url(),
            ])
            .current_dir(machine.path("work"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    };
    assert!(maillatch(&["migrate"]).status().await.unwrap().success());
    let mut worker = maillatch(&["worker", "--listen", "127.0.0.1:0"])
        .spawn()
        .unwrap();
    until_declared(&broker).await;
    let services = root().join("tests/services");
    let (services, directory) = (services.display(), broker.directory().display());
    let ctl = format!("exec '{services}' ctl rabbitmq '{directory}' \"$@\"\n");
    machine.stand_in("rabbitmqctl", &ctl);
    machine.run(&snippet).await;
    until_declared(&broker).await;
    worker.kill().await.unwrap();
    store::drop_database(&database.as_str().into())
        .await
        .unwrap();
}

async fn until_declared(broker: &Server) {
    wait::until("the queue is declared", async || {
        let queues = broker.ctl(&["list_queues", "name", "--silent"]);
        queues.lines().any(|name| name == "maillatch").then_some(())
    })
    .await;
}
