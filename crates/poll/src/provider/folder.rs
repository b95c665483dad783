//! Mail in files: a Maildir, or a folder of `.eml` files.
//!
//! A file of a Maildir keeps its unique name when it is moved from `new` to `cur` or when
//! its flags change, so that name is its id. A plain file counts as another mail when its
//! size or time changes. Files are only read, and links are not followed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use pipeline::Timestamp;
use providers::PollSettings;
use serde::Deserialize;
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::client::recipients::recipients;
use crate::client::{Fetched, FoundMail, ListedMail, Page, PollError, SourceClient};

/// Files of one page.
const PAGE: usize = 200;
/// A plain file that changed less than this ago may still be written to.
const SETTLED: Duration = Duration::from_secs(1);

/// Files on this machine.
pub(crate) struct Folder {
    roots: Vec<PathBuf>,
    deliver_to: Vec<String>,
    message_limit: usize,
    /// Whether subfolders and files of any age are read, too.
    is_import: bool,
}

/// A file with a mail in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Mail {
    /// The path as text. Files are in the order of their names.
    name: String,
    path: PathBuf,
    id: String,
    changed: Option<i64>,
}

impl Folder {
    /// A folder that is polled.
    pub(super) fn polled(path: PathBuf, poll: &PollSettings, message_limit: usize) -> Self {
        Self {
            roots: vec![path],
            deliver_to: poll.deliver_to.clone(),
            message_limit,
            is_import: false,
        }
    }

    /// Files and folders that are read once.
    pub(crate) fn imported(
        roots: Vec<PathBuf>,
        deliver_to: Vec<String>,
        message_limit: usize,
    ) -> Self {
        Self {
            roots,
            deliver_to,
            message_limit,
            is_import: true,
        }
    }

    async fn mails(&self) -> Result<Vec<Mail>, PollError> {
        let (roots, is_import) = (self.roots.clone(), self.is_import);
        let found = spawn_blocking(move || -> io::Result<Vec<Mail>> {
            let mut mails = Vec::new();
            for root in roots {
                collect(&fs::canonicalize(root)?, is_import, &mut mails)?;
            }
            mails.sort();
            Ok(mails)
        });
        match found.await {
            Ok(Ok(mails)) => Ok(mails),
            Ok(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(PollError::Unauthorized)
            }
            Ok(Err(_)) | Err(_) => Err(PollError::Unavailable),
        }
    }

    /// How many mails there are.
    pub(crate) async fn count(&self) -> Result<usize, PollError> {
        Ok(self.mails().await?.len())
    }
}

#[async_trait]
impl SourceClient for Folder {
    /// The cursor is the last path of an incomplete pass. Every pass begins with the
    /// first file, because new files can be anywhere in the order.
    async fn list(&mut self, cursor: &str, now: Timestamp) -> Result<Page, PollError> {
        let mails = self.mails().await?;
        let settled = |mail: &&Mail| {
            let age = mail.changed.map(|at| now.since(Timestamp::from_millis(at)));
            self.is_import || age.is_none_or(|age| age >= SETTLED)
        };
        let mut remaining = mails
            .iter()
            .filter(|mail| mail.name.as_str() > cursor)
            .filter(settled);
        let page: Vec<&Mail> = remaining.by_ref().take(PAGE).collect();
        let has_more = remaining.next().is_some();
        let last = page.last().map(|mail| mail.name.clone());
        let item = |mail: &&Mail| ListedMail {
            id: mail.id.clone(),
            arrived_at: mail.changed.map(Timestamp::from_millis),
            note: json!(mail.path.as_os_str().as_bytes()),
        };
        Ok(Page {
            items: page.iter().map(item).collect(),
            cursor: last.filter(|_| has_more).unwrap_or_default(),
            has_more,
        })
    }

    fn is_finite(&self) -> bool {
        true
    }

    async fn fetch(&mut self, item: &ListedMail) -> Result<Fetched, PollError> {
        let path = Vec::<u8>::deserialize(&item.note);
        let path = path.ok().ok_or(PollError::UnexpectedAnswer)?;
        let path = PathBuf::from(OsString::from_vec(path));
        let limit = self.message_limit as u64;
        let read = spawn_blocking(move || -> io::Result<Option<Vec<u8>>> {
            if fs::metadata(&path)?.len() > limit {
                return Ok(None);
            }
            fs::read(&path).map(Some)
        });
        let raw = match read.await {
            Ok(Ok(Some(raw))) => raw,
            Ok(Ok(None)) => return Ok(Fetched::TooLarge),
            // It was moved or deleted; the next round finds it at its new path.
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(Fetched::Gone),
            Ok(Err(_)) | Err(_) => return Err(PollError::Unavailable),
        };
        let to = if self.deliver_to.is_empty() {
            recipients(&raw)
        } else {
            self.deliver_to.clone()
        };
        Ok(Fetched::Mail(FoundMail::raw(&to, &raw)))
    }
}

fn collect(root: &Path, is_import: bool, mails: &mut Vec<Mail>) -> io::Result<()> {
    if is_import && root.is_file() {
        mails.extend(plain(root)?);
        return Ok(());
    }
    if root.join("new").is_dir() && root.join("cur").is_dir() {
        for folder in ["new", "cur"] {
            for entry in fs::read_dir(root.join(folder))? {
                mails.extend(delivered(&entry?)?);
            }
        }
        return Ok(());
    }
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_mail = path.extension().is_some_and(|extension| extension == "eml");
        if kind.is_file() && is_mail {
            mails.extend(plain(&path)?);
        } else if kind.is_dir() && is_import {
            collect(&path, is_import, mails)?;
        }
    }
    Ok(())
}

/// A file of a Maildir; its name without the flags is unique.
fn delivered(entry: &DirEntry) -> io::Result<Option<Mail>> {
    let name = text(&entry.file_name());
    if name.starts_with('.') || !entry.file_type()?.is_file() {
        return Ok(None);
    }
    let unique = name.split(":2,").next().unwrap_or(&name);
    let changed = ignore_gone(entry.metadata())?.map(|about| millis(about.modified()));
    Ok(changed.map(|changed| Mail {
        name: text(entry.path().as_os_str()),
        path: entry.path(),
        id: format!("maildir {unique}"),
        changed,
    }))
}

fn plain(path: &Path) -> io::Result<Option<Mail>> {
    Ok(ignore_gone(fs::metadata(path))?.map(|about| {
        let changed = millis(about.modified());
        Mail {
            name: text(path.as_os_str()),
            path: path.to_owned(),
            id: format!(
                "file {} {} {}",
                text(path.as_os_str()),
                about.len(),
                changed.unwrap_or_default()
            ),
            changed,
        }
    }))
}

/// A path as text. Two paths that are not UTF-8 have different texts, too.
fn text(path: &OsStr) -> String {
    let escaped = || path.as_bytes().escape_ascii().to_string();
    path.to_str().map_or_else(escaped, ToOwned::to_owned)
}

fn ignore_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn millis(moment: io::Result<SystemTime>) -> Option<i64> {
    let since = moment.ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn file_whose_name_is_not_utf8_is_read_like_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let mail = b"To: agent@inbox.test\r\nSubject: hello\r\n\r\nhello\r\n";
        for name in [&b"a.eml"[..], b"b\xff.eml", b"b\xfe.eml", b"z.eml"] {
            fs::write(folder.path().join(OsStr::from_bytes(name)), mail).unwrap();
        }
        let mut client = Folder::imported(vec![folder.path().to_owned()], Vec::new(), 10_000);
        let page = client.list("", Timestamp::from_millis(0)).await.unwrap();
        let mut ids: Vec<_> = page.items.iter().map(|item| item.id.clone()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 4, "{ids:?}");
        for item in &page.items {
            let fetched = client.fetch(item).await.unwrap();
            assert!(matches!(fetched, Fetched::Mail(_)), "{}", item.id);
        }
    }
}
