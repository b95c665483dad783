-- Refused posts are counted, so that an operator sees a wrong secret or clock.

-- One row is how many posts to a source were refused for a reason within five
-- minutes. Rows of more than two hours ago are deleted when others are added.
CREATE TABLE refusals (
    -- The source's name; empty for posts to a path that no source has.
    source      text    NOT NULL,
    reason      text    NOT NULL,
    -- Which five minutes since the epoch.
    slot        bigint  NOT NULL,
    posts       bigint  NOT NULL,
    -- How old the last of them was by its own timestamp, for the reason `stale`.
    seconds_old bigint,
    PRIMARY KEY (source, reason, slot)
);
