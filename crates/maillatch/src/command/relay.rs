//! `relay`: posts a message that a mail server pipes in.

use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use pipeline::{InboxId, SourceName};

use crate::dev::DevEnv;
use crate::remote::Remote;
use crate::server_clock::{TOLERANCE, complaint};
use client::Delivery;

/// `EX_TEMPFAIL`: the mail server keeps the mail and tries again.
const TRY_AGAIN: u8 = 75;

/// Posts a message from standard input, as a mail server pipes it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch relay agent@inbox.test < message.eml
  Postfix, master.cf:
    maillatch unix - n n - 4 pipe
      user=maillatch argv=/usr/local/bin/maillatch relay --source relay ${recipient}
  Exim, a transport with driver = pipe:
    command = /usr/local/bin/maillatch relay $local_part@$domain
  qmail, a .qmail file:
    |/usr/local/bin/maillatch relay \"$RECIPIENT\"

MAILLATCH_URL is the server and MAILLATCH_SIGNING_SECRET the source's secret.
Exit codes: 0 the mail is in a committed row, 2 usage, 75 try again later.")]
pub(crate) struct Relay {
    /// The recipients of the envelope.
    #[arg(required = true, value_name = "ADDRESS")]
    recipients: Vec<InboxId>,
    /// The source to post to, whose provider is `relay`; by default the one of this name.
    /// Without `MAILLATCH_SIGNING_SECRET`, the development source of the data directory.
    #[arg(long)]
    source: Option<SourceName>,
    #[command(flatten)]
    remote: Remote,
}

pub(crate) async fn run(args: Relay) -> Result<ExitCode> {
    match post(&args).await {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // The mail server still has the mail and must keep it.
        Err(error) => {
            eprintln!("maillatch: {error:#}");
            Ok(ExitCode::from(TRY_AGAIN))
        }
    }
}

async fn post(args: &Relay) -> Result<()> {
    let mut mail = Vec::new();
    std::io::stdin()
        .read_to_end(&mut mail)
        .context("failed to read the message")?;
    if mail.is_empty() {
        bail!("standard input has no message; pipe one in: maillatch relay ADDRESS < message.eml");
    }
    let is_development = args.source.is_none() && args.remote.has_saved_secret()?;
    let (source, delivery) = if is_development {
        let delivery = Delivery::of_mail(&mail, &args.recipients);
        // A retry of the same mail has the same id.
        let id = Delivery::of_pipe(&mail, &args.recipients).id;
        (DevEnv::NAME, Delivery { id, ..delivery })
    } else {
        let named = args.source.as_ref().map_or("relay", SourceName::as_str);
        (named, Delivery::of_pipe(&mail, &args.recipients))
    };
    let posted = args.remote.hook(source)?.post_signed(&delivery).await?;
    match posted.http {
        200 => Ok(()),
        404 => bail!(
            "the server has no source named {source}; add one with: maillatch source add relay"
        ),
        401 => bail!(
            "the server refused the signature for source {source}: {}",
            complaint(posted.date.as_deref(), TOLERANCE).unwrap_or_else(|| {
                "check that MAILLATCH_SIGNING_SECRET is the secret of this source".to_owned()
            })
        ),
        http => bail!("the server answered {http}; nothing was recorded"),
    }
}
