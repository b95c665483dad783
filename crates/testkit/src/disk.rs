//! A small file system that a test can fill.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use uuid::Uuid;

use crate::store_contract::must;

/// A file system of a few megabytes; dropping it unmounts it. Only root may mount one, so
/// this needs root or a `sudo` that asks for no password.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts a file system of this size. `options` are further options of `mount`.
    #[track_caller]
    pub fn mount(megabytes: u32, options: &str) -> Self {
        let name = format!("maillatch-disk-{}", Uuid::new_v4().simple());
        let path = std::env::temp_dir().join(name);
        must(std::fs::create_dir(&path));
        let disk = Self { path };
        let options = format!("size={megabytes}m{options}");
        let arguments = ["-t", "tmpfs", "-o", &options, "tmpfs"];
        let is_mounted =
            disk.run(&["mount"], &arguments) || disk.run(&["sudo", "-n", "mount"], &arguments);
        assert!(is_mounted, "mounting a file system needs root");
        disk
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills all space that is left.
    #[track_caller]
    pub fn fill(&self) {
        let mut filler = must(File::create(self.filler()));
        for size in [4096, 1] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
    }

    /// Frees the space that [`fill`](Self::fill) has filled.
    #[track_caller]
    pub fn free(&self) {
        must(std::fs::remove_file(self.filler()));
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }

    fn run(&self, words: &[&str], arguments: &[&str]) -> bool {
        let [program, rest @ ..] = words else {
            return false;
        };
        let mut command = Command::new(program);
        command.args(rest).args(arguments).arg(&self.path);
        command.status().is_ok_and(|status| status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A failing test unwinds through here: nothing may panic again.
        if !self.run(&["umount"], &["--lazy"]) {
            self.run(&["sudo", "-n", "umount"], &["--lazy"]);
        }
        drop(std::fs::remove_dir(&self.path));
    }
}
