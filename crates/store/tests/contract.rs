//! Runs the contracts of `testkit` on both databases, and the tests of what only one
//! database does.

mod cancellation;
mod disclosure;
mod full_disk;
mod locks;
mod may_have_been_sent;
mod model;
mod overdue;
mod pooler;
mod postgres;
mod refusals;
mod seal;
mod slow_commit;
mod sqlite;
mod subject;
mod upgrade;

mod on_postgres {
    use crate::subject::PostgresDatabase;

    testkit::store_contract!(PostgresDatabase);
    testkit::callback_contract!(PostgresDatabase);
    testkit::key_contract!(PostgresDatabase);
    testkit::poll_contract!(PostgresDatabase);
    testkit::retention_contract!(PostgresDatabase);
    testkit::send_contract!(PostgresDatabase);
    testkit::reply_contract!(PostgresDatabase);
}

mod on_sqlite {
    use crate::subject::SqliteFile;

    testkit::store_contract!(SqliteFile);
    testkit::callback_contract!(SqliteFile);
    testkit::key_contract!(SqliteFile);
    testkit::poll_contract!(SqliteFile);
    testkit::retention_contract!(SqliteFile);
    testkit::send_contract!(SqliteFile);
    testkit::reply_contract!(SqliteFile);
}
