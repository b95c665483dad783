-- Which server secret this database is used with, so that another one is noticed; the
-- twin of the Postgres file.

-- The one row is a keyed digest of a fixed text. It says nothing about the secret.
CREATE TABLE server_secret (
    one         INTEGER PRIMARY KEY NOT NULL CHECK (one = 1),
    tag         BLOB    NOT NULL,
    noted_at    INTEGER NOT NULL
) STRICT;
