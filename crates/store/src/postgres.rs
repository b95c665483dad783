//! The seams over Postgres.

mod agents;
mod artifacts;
mod attempt_consumes;
mod attempts;
mod binding;
mod callbacks;
mod claims;
mod connect;
mod consumes;
mod deliveries;
mod expectations;
mod failures;
mod inboxes;
mod keys;
mod listen;
mod messages;
mod moment;
mod polls;
mod pool;
mod probe;
mod references;
mod requests;
mod reseal;
mod resends;
mod retention;
mod schema;
mod silence;

use crate::arrivals::Arrivals;
use crate::migrations::{self, Migrated};
use crate::open::OpenError;
use crate::settings::{Secrets, Settings};
use crate::uncancelled::Uncancelled;

use listen::Listener;
use pool::Pool;

/// An open Postgres database.
pub(crate) struct Postgres {
    pool: Pool,
    secrets: Secrets,
    work: Uncancelled,
    arrivals: Arrivals,
    listener: Listener,
}

impl Postgres {
    pub(crate) async fn open(settings: &Settings) -> Result<Self, OpenError> {
        let secrets = settings.secrets()?;
        if settings.migrate {
            Self::migrate(settings).await?;
        }
        let options = connect::options(settings)?;
        let pool = Pool::over(connect::pool(settings, options.clone()).await?);
        let mut connection = pool.lend().await.map_err(connect::connect_error)?;
        if !settings.allow_unsafe {
            connect::refuse_forgetful(&mut connection).await?;
        }
        let present = schema::present(&mut connection).await?;
        migrations::refuse_newer(&present)?;
        migrations::refuse_missing(&present)?;
        let arrivals = Arrivals::default();
        Ok(Self {
            listener: Listener::new(options, arrivals.clone()),
            pool,
            secrets,
            work: Uncancelled::default(),
            arrivals,
        })
    }

    pub(crate) async fn migrate(settings: &Settings) -> Result<Migrated, OpenError> {
        schema::migrate(&connect::plain_options(settings)?).await
    }

    pub(crate) async fn close(&self) {
        self.listener.stop();
        self.work.finish().await;
        self.pool.close().await;
    }
}
