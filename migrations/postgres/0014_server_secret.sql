-- Which server secret this database is used with, so that another one is noticed.

-- The one row is a keyed digest of a fixed text. It says nothing about the secret.
CREATE TABLE server_secret (
    one         smallint    PRIMARY KEY CHECK (one = 1),
    tag         bytea       NOT NULL,
    noted_at    timestamptz NOT NULL
);
