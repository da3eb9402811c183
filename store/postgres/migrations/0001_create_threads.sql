-- Threads, their logs, and what is looked up about them: the same tables and
-- the same meaning as 0001 of the SQLite store, as PostgreSQL (15 and later)
-- is best asked. No program runs this file yet; it is kept beside the other so
-- that no capability will have to rebuild a table. Forward only: once it has
-- been released it is never edited.
--
-- What differs from SQLite, and why:
--  * A change is found through the primary key (thread, version), and points to
--    nothing: an index insert costs little here, a round trip much, and the
--    append is one statement (head CAS, change, ids). There are no marks.
--  * The order of the whole store is ord, not a row number, which would leave
--    gaps that fill later. It is the greater of the transaction's own id and
--    the one in the head, so that a later version never sorts before an
--    earlier one; readers of the feed stay below the snapshot's xmin and order
--    by (ord, thread, version).
--  * The lease's clock is the server's.
--
-- Times of the contract are Unix milliseconds, as in the hash chain; leases,
-- due times and claims are timestamptz. Ids that are canonical UUIDs are kept
-- as text too: bytea and text do not share a column.

-- +goose Up
CREATE TABLE meta (
    key   text  PRIMARY KEY,
    value bytea NOT NULL
);

INSERT INTO meta (key, value) VALUES
    ('generation', int8send(1)), -- raised when the database is restored from a backup
    ('cursor_key', uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())); -- seals the cursors of this database

CREATE TABLE threads (
    key           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant        text     NOT NULL DEFAULT '',
    id            text     NOT NULL COLLATE "C",

    -- The head. Every append rewrites it in place (HOT): never index a column
    -- of it.
    version       bigint   NOT NULL DEFAULT 0, -- 0: leased, not created yet
    ord           xid8     NOT NULL DEFAULT '0', -- of the last change
    next_seq      bigint   NOT NULL DEFAULT 1,
    hash          bytea    NOT NULL,           -- of the last change
    updated_at    bigint   NOT NULL DEFAULT 0,
    state_version bigint   NOT NULL DEFAULT 0, -- of the last change of the state
    epoch         bigint   NOT NULL DEFAULT 0, -- fences appends; raised by every lease
    deleted       boolean  NOT NULL DEFAULT false, -- a tombstone
    latest_run    text,
    run           jsonb,                       -- the open run, its spec left out
    calls         jsonb,                       -- the open tool calls

    -- The lease. Claims and renewals are not versions.
    lease_owner   jsonb,
    lease_token   text,
    lease_until   timestamptz,
    ready_at      timestamptz,                 -- when queued work of the thread is due

    -- What the thread says about itself.
    born          bigint,                      -- order of creation; NULL: cannot be read
    created_at    bigint   NOT NULL DEFAULT 0,
    parent        text     NOT NULL DEFAULT '' COLLATE "C",
    "user"        text     NOT NULL DEFAULT '' COLLATE "C",
    title         text     NOT NULL DEFAULT '',
    metadata      json,                        -- verbatim: numbers keep their digits
    forked_from   json,
    expires_at    bigint,

    -- What is no longer there, or no longer seen.
    horizon       bigint   NOT NULL DEFAULT 0, -- state below this version was compacted away
    rewinds       json,                        -- the stretches of the log that rewinds hid

    UNIQUE (tenant, id)
) WITH (fillfactor = 50);

CREATE SEQUENCE births AS bigint OWNED BY threads.born;

CREATE INDEX threads_by_birth  ON threads (tenant, born) WHERE born IS NOT NULL;
CREATE INDEX threads_by_parent ON threads (tenant, parent, born) WHERE born IS NOT NULL AND parent <> '';
CREATE INDEX threads_by_user   ON threads (tenant, "user", born) WHERE born IS NOT NULL AND "user" <> '';

CREATE TABLE changes (
    thread        bigint   NOT NULL,
    version       bigint   NOT NULL,
    ord           xid8     NOT NULL, -- order of the whole store, with thread and version
    state_prev    bigint   NOT NULL, -- version of the change of the state before it; 0: none
    effect        smallint NOT NULL, -- on the state: 0 none, 1 patches it, 2 replaces it
    first_seq     bigint   NOT NULL,
    added         integer  NOT NULL,
    at            bigint   NOT NULL,
    reason        smallint NOT NULL,
    id            text     NOT NULL,
    run           text,
    parent_run    text,
    dropped       integer[],         -- indexes of messages that were known already
    salt          bytea    NOT NULL,
    content       bytea    NOT NULL,
    hash          bytea    NOT NULL,
    prev_hash     bytea,             -- where the change before it is gone
    codec         smallint NOT NULL DEFAULT 0, -- of rest and messages: 0 as received
    sizes         integer[],         -- where the messages but the last end
    rest          bytea,             -- NULL: {}
    messages      bytea,
    PRIMARY KEY (thread, version) INCLUDE (first_seq) -- a seq is found by halving
);

-- Bodies are compressed by whoever writes them, if at all.
ALTER TABLE changes
    ALTER COLUMN rest     SET STORAGE EXTERNAL,
    ALTER COLUMN messages SET STORAGE EXTERNAL;

CREATE INDEX changes_in_order ON changes (ord, thread, version);

CREATE TABLE ids (
    key     bytea    NOT NULL, -- a UUIDv7, or 0xff, the thread and what the id hashes to
    thread  bigint   NOT NULL,
    kind    smallint NOT NULL, -- 0 a change set, 1 a message
    version bigint   NOT NULL,
    PRIMARY KEY (key, thread, kind)
);

-- A row is written when a run is created and when it is done. Between the two
-- the head of its thread holds what became of it.
CREATE TABLE runs (
    key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- order of creation
    tenant     text    NOT NULL DEFAULT '',
    id         text    NOT NULL COLLATE "C",
    thread     bigint  NOT NULL,
    agent      text    NOT NULL DEFAULT '',
    parent     text    NOT NULL DEFAULT '' COLLATE "C",
    created_at bigint  NOT NULL,
    open       boolean NOT NULL,
    spec       json,             -- what it was resolved to; never changes
    data       json    NOT NULL, -- the rest of it
    UNIQUE (tenant, id)
);

CREATE INDEX runs_by_thread ON runs (thread, key);
CREATE INDEX runs_by_parent ON runs (tenant, parent, key) WHERE parent <> '';
CREATE INDEX runs_open      ON runs (tenant, key) WHERE open;

-- Tool calls that have ended. The open ones stand in the head of their thread.
CREATE TABLE calls (
    thread bigint NOT NULL,
    id     text   NOT NULL COLLATE "C",
    data   json   NOT NULL,
    PRIMARY KEY (thread, id)
);

-- State documents that save a reader the way. Losing one costs time, not data.
CREATE TABLE state_cache (
    thread  bigint NOT NULL,
    version bigint NOT NULL,
    digest  bytea  NOT NULL, -- of the hash of the version's change and the document
    doc     bytea  NOT NULL,
    PRIMARY KEY (thread, version)
);

-- The state of deliveries. Their payload stands in the change.
CREATE TABLE outbox (
    key          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant       text        NOT NULL DEFAULT '',
    thread       bigint      NOT NULL, -- the change
    version      bigint      NOT NULL,
    item         integer     NOT NULL, -- the entry's index in it
    lane         text        NOT NULL,
    dedupe_key   text,
    status       smallint    NOT NULL DEFAULT 0, -- 0 due, 1 delivered, 2 dead
    available_at timestamptz NOT NULL,
    attempts     integer     NOT NULL DEFAULT 0,
    max_attempts integer     NOT NULL DEFAULT 0,
    claim_owner  jsonb,
    claim_token  text,
    claim_until  timestamptz,
    last_error   text,
    UNIQUE (thread, version, item)
);

CREATE INDEX outbox_due ON outbox (lane, available_at) WHERE status = 0;
