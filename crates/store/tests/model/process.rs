//! A process that has the database open and can die. The database's clock stands still
//! until a test moves it.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection, SqliteConnection};
use store::{Settings, Store};
use testkit::store_contract::must;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

use crate::subject::{Database, Directory};

/// Where the clock begins. It is not set back between cases.
const BEGIN: i64 = 1_800_000_000_000;

enum Place {
    Sqlite(Directory, SqliteConnection),
    Postgres(Database, PgConnection),
}

pub(crate) struct Process {
    /// The state of the process; a crash drops it.
    runtime: Option<Runtime>,
    store: Option<Store>,
    /// What survives a crash: the database, and the connection that moves its clock.
    outside: Runtime,
    place: Place,
    pub(crate) now: i64,
}

impl Process {
    pub(crate) fn on_sqlite() -> Self {
        let outside = runtime();
        let directory = Directory::new();
        let hand = outside.block_on(async {
            // The tables are the product's own; only the view `clock` is replaced.
            must(store::open(&directory.settings()).await).close().await;
            let mut hand = must(SqliteConnection::connect(&directory.url()).await);
            let stop = sqlx::raw_sql(
                "PRAGMA synchronous = OFF;
                 CREATE TABLE moment (now INTEGER NOT NULL);
                 INSERT INTO moment VALUES (1800000000000);
                 DROP VIEW clock;
                 CREATE VIEW clock (now) AS SELECT now FROM moment",
            );
            must(stop.execute(&mut hand).await);
            hand
        });
        Self::start(outside, Place::Sqlite(directory, hand))
    }

    pub(crate) fn on_postgres() -> Self {
        let outside = runtime();
        let (database, hand) = outside.block_on(async {
            let database = Database::create().await;
            let mut hand = must(PgConnection::connect(&database.url).await);
            // These functions come before the server's own in the search path, for the
            // product's statements and for the views that its migrations create.
            let stop = sqlx::raw_sql(
                "CREATE TABLE moment (now timestamptz NOT NULL);
                 INSERT INTO moment VALUES (to_timestamp(1800000000));
                 CREATE FUNCTION public.now() RETURNS timestamptz STABLE LANGUAGE sql AS
                     'SELECT now FROM public.moment';
                 CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
                     AS 'SELECT now FROM public.moment';
                 DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, pg_catalog',
                                            current_database()); END $$",
            );
            must(stop.execute(&mut hand).await);
            must(
                store::migrate(&Settings {
                    migrate: true,
                    ..database.settings()
                })
                .await,
            );
            (database, hand)
        });
        Self::start(outside, Place::Postgres(database, hand))
    }

    fn start(outside: Runtime, place: Place) -> Self {
        let mut process = Self {
            runtime: None,
            store: None,
            outside,
            place,
            now: BEGIN,
        };
        process.restart();
        process
    }

    fn restart(&mut self) {
        let settings = match &self.place {
            Place::Sqlite(directory, _) => directory.settings(),
            Place::Postgres(database, _) => database.settings(),
        };
        let settings = Settings {
            max_connections: 3,
            ..settings
        };
        let runtime = runtime();
        self.store = Some(must(runtime.block_on(store::open(&settings))));
        self.runtime = Some(runtime);
    }

    pub(crate) fn store(&self) -> Store {
        self.store.clone().unwrap()
    }

    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().unwrap().block_on(work)
    }

    /// Begins the work and dies, then starts again. Every task of the process ends where
    /// it is, and its connections are cut.
    pub(crate) fn die_during(&mut self, work: impl Future, after: Duration) {
        let runtime = self.runtime.take().unwrap();
        let death = async {
            let began = Instant::now();
            while began.elapsed() < after {
                yield_now().await;
            }
        };
        runtime.block_on(async {
            tokio::select! {
                _ = work => {}
                () = death => {}
            }
        });
        drop(runtime);
        self.store = None;
        self.restart();
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, millis: i64) {
        self.now += millis;
        let now = self.now;
        self.outside.block_on(async {
            match &mut self.place {
                Place::Sqlite(_, hand) => {
                    let set = sqlx::query("UPDATE moment SET now = $1").bind(now);
                    must(set.execute(hand).await);
                }
                Place::Postgres(_, hand) => {
                    let set = "UPDATE moment SET now = to_timestamp($1::bigint / 1000)
                                   + $1::bigint % 1000 * interval '1 millisecond'";
                    must(sqlx::query(set).bind(now).execute(hand).await);
                }
            }
        });
    }

    /// The result of a counting query.
    pub(crate) fn count(&mut self, rows: &'static str) -> i64 {
        self.outside.block_on(async {
            match &mut self.place {
                Place::Sqlite(_, hand) => must(sqlx::query_scalar(rows).fetch_one(hand).await),
                Place::Postgres(_, hand) => must(sqlx::query_scalar(rows).fetch_one(hand).await),
            }
        })
    }

    pub(crate) fn end(mut self) {
        let store = self.store();
        self.run(async { store.close().await });
        self.store = None;
        self.outside.block_on(async {
            match self.place {
                Place::Sqlite(_, hand) => must(hand.close().await),
                Place::Postgres(database, hand) => {
                    must(hand.close().await);
                    database.drop().await;
                }
            }
        });
    }
}

fn runtime() -> Runtime {
    must(Builder::new_current_thread().enable_all().build())
}
