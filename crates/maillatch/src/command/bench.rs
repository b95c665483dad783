//! `bench`: measures a running server with signed, unique mails: how fast posts are
//! acknowledged, and how soon their codes can be consumed.

mod drive;
mod figures;
mod posts;
mod watch;
mod wire;

use std::io::Write;
use std::num::{NonZeroU32, NonZeroUsize};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use pipeline::SourceName;
use tokio::sync::Semaphore;
use url::Host;

use crate::remote::Remote;
use client::Client;

use drive::{InFlight, Pace};
use figures::Figures;
use posts::{Plan, Posts};
use watch::Lanes;

/// Posts are signed before the clock starts, so all of them are in memory.
const MOST_BYTES: usize = 1 << 30;

/// Measures how fast a running server acknowledges mails and makes codes consumable.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  maillatch bench
  maillatch bench --mails 20000 --connections 128 --acks-only
  maillatch bench --rate 200 --mails 6000 --json
  maillatch bench --in-flight 1 --mails 300
  maillatch bench --copies 5

Without --rate and --in-flight each connection posts its next mail when it has its
answer. With --rate mails are posted at that rate whatever the server does, and times
are counted from the moment at which a post was due. With --in-flight 1 mails are posted
one at a time: each when the code of the one before is consumable.

The time to consumable is from the answer to the post until a waiting agent has the
code's item. The key must be allowed to read the inboxes `bench-…` of the domain. The
feed limits the reads of a key: raise feed.reads_per_minute for a long run.

The mails stay in the database until their retention ends. Exit codes: 0 every post
was accepted and every code arrived, 1 some did not.")]
pub(crate) struct Bench {
    /// How many different mails to post.
    #[arg(long, value_name = "N", default_value = "2000")]
    mails: NonZeroUsize,
    /// How many connections post at once.
    #[arg(long, value_name = "N", default_value = "16")]
    connections: NonZeroUsize,
    /// Post this many mails a second, instead of as many as are answered.
    #[arg(long, value_name = "PER_SECOND")]
    rate: Option<NonZeroU32>,
    /// Post a mail only while fewer than this many wait for their codes.
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "acks_only", "copies"])]
    in_flight: Option<NonZeroUsize>,
    /// Post each delivery this many times, as a provider that retries.
    #[arg(long, value_name = "N", default_value = "1")]
    copies: NonZeroUsize,
    /// About how many bytes each mail has.
    #[arg(long, value_name = "BYTES", default_value = "6000")]
    size: usize,
    /// Measure the posts only, and do not wait for the codes.
    #[arg(long)]
    acks_only: bool,
    /// Give up when no code arrives for this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "30")]
    patience: u64,
    /// The domain of the inboxes.
    #[arg(long, default_value = "inbox.test")]
    domain: String,
    /// The source to post to.
    #[arg(long, default_value = "dev")]
    source: SourceName,
    /// The URL of the feed, when another process serves it.
    #[arg(long, value_name = "URL")]
    feed_url: Option<url::Url>,
    /// Allow a server on another machine.
    #[arg(long)]
    allow_remote: bool,
    /// Print one JSON object on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

pub(crate) async fn run(args: Bench) -> Result<ExitCode> {
    let url = args.remote.url()?;
    check(&args, &url)?;
    let lanes = if args.acks_only {
        1
    } else {
        watch::lane_count(args.mails.get(), args.rate)
    };
    let plan = Plan {
        mails: args.mails.get(),
        copies: args.copies.get(),
        size: args.size,
        lanes,
        domain: &args.domain,
    };
    let hook = args.remote.hook(args.source.as_str())?;
    let posts = Arc::new(Posts::sign(&plan, &hook, &url)?);
    let patience = Duration::from_secs(args.patience);
    // More places than mails are never needed, and more connections than places would only
    // wait for one.
    let places = args.in_flight.map(|places| places.min(args.mails).get());
    let connections = args.connections.get().min(places.unwrap_or(usize::MAX));
    let in_flight = InFlight {
        places: Arc::new(Semaphore::new(places.unwrap_or(0))),
        patience,
    };
    let lanes = if args.acks_only {
        None
    } else {
        Some(Lanes::open(feed(&args)?, posts.inboxes(), &in_flight.places).await?)
    };
    let pace = match (args.rate, args.in_flight) {
        (Some(rate), _) => Pace::PerSecond(rate),
        (None, Some(_)) => Pace::AsConsumable(in_flight),
        (None, None) => Pace::AsAnswered,
    };
    let driven = drive::run(&url, &posts, connections, pace).await?;
    let seen = match lanes {
        Some(lanes) => Some(lanes.finish(&driven, patience).await),
        None => None,
    };
    let figures = Figures::of(&driven, seen.as_ref());
    if args.json {
        writeln!(std::io::stdout().lock(), "{}", figures.json())?;
    } else {
        writeln!(std::io::stdout().lock(), "{figures}")?;
    }
    Ok(if figures.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Refuses what would load another machine by accident, or this one's memory.
fn check(args: &Bench, url: &url::Url) -> Result<()> {
    if url.scheme() != "http" {
        bail!("bench speaks http only; give the URL of the server behind the TLS proxy");
    }
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if !is_here && !args.allow_remote {
        bail!("{url} is another machine; add --allow-remote if it is yours to load");
    }
    let bytes = args.mails.get().saturating_mul(2 * args.size + 4096);
    if bytes > MOST_BYTES {
        bail!(
            "{} mails of {} bytes need more than 1 GiB of memory; use fewer or smaller ones",
            args.mails,
            args.size
        );
    }
    Ok(())
}

fn feed(args: &Bench) -> Result<Client> {
    let mut connection = args.remote.connection()?;
    if let Some(url) = &args.feed_url {
        connection.url = url.clone();
    }
    Ok(Client::new(connection)?)
}
