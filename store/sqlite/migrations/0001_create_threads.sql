-- Threads, their logs, and what is looked up about them. Forward only: never
-- edit this file once it has been released, add the next one.
--
-- The number of b-trees that an append touches is what it costs, so:
--  * the head of a thread, its open run included, is one row of threads;
--  * a change is one row of changes, found by its position, and points back to
--    the change before it. No index on (thread, version) has to be kept up:
--    every 32nd version leaves a row in marks, from which a version is at most
--    31 steps away. That (thread, version) is unique follows from the guarded
--    update of the head in the same transaction;
--  * most changes of a busy thread add no message, or leave the state alone.
--    Each change therefore also points back to the last one that added
--    messages, and to the last one of the state, which the head knows too;
--  * ids of change sets and of messages share one small table. A UUIDv7 comes
--    first in its key, so that the ids of one moment lie side by side whatever
--    their threads.
--
-- Times are Unix milliseconds. Ids are blobs of 16 bytes where they are
-- canonical UUIDs and text otherwise. An empty list, object or name is NULL
-- where NULL is allowed.

-- +goose Up
CREATE TABLE meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value ANY  NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES
    ('generation', 1),              -- raised when the database is restored from a backup
    ('cursor_key', randomblob(32)); -- seals the cursors of this database

CREATE TABLE threads (
    key           INTEGER PRIMARY KEY,
    tenant        TEXT    NOT NULL DEFAULT '',
    id            TEXT    NOT NULL,

    -- The head. Every append rewrites it: never index a column of it.
    version       INTEGER NOT NULL DEFAULT 0, -- 0: leased, not created yet
    pos           INTEGER NOT NULL DEFAULT 0, -- of the last change
    next_seq      INTEGER NOT NULL DEFAULT 1,
    hash          BLOB    NOT NULL,           -- of the last change
    updated_at    INTEGER NOT NULL DEFAULT 0,
    state_pos     INTEGER NOT NULL DEFAULT 0, -- of the last change of the state
    state_version INTEGER NOT NULL DEFAULT 0, -- of that change
    message_pos   INTEGER NOT NULL DEFAULT 0, -- of the last change that added messages
    epoch         INTEGER NOT NULL DEFAULT 0, -- fences appends; raised by every lease
    deleted       INTEGER NOT NULL DEFAULT 0, -- 1: a tombstone
    latest_run    TEXT,
    run           TEXT,                       -- the open run, its spec left out
    calls         TEXT,                       -- the open tool calls

    -- The lease. Claims and renewals are not versions.
    lease_owner   TEXT,
    lease_token   TEXT,
    lease_until   INTEGER,
    ready_at      INTEGER,                    -- when queued work of the thread is due

    -- What the thread says about itself.
    born          INTEGER,                    -- position of the change that created it; NULL: cannot be read
    created_at    INTEGER NOT NULL DEFAULT 0,
    parent        TEXT    NOT NULL DEFAULT '',
    user          TEXT    NOT NULL DEFAULT '',
    title         TEXT    NOT NULL DEFAULT '',
    metadata      TEXT,
    forked_from   TEXT,
    expires_at    INTEGER,

    -- What is no longer there, or no longer seen.
    horizon       INTEGER NOT NULL DEFAULT 0, -- state below this version was compacted away
    rewinds       BLOB,                       -- varints: where the history of this life jumps

    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX threads_by_birth  ON threads (tenant, born) WHERE born IS NOT NULL;
CREATE INDEX threads_by_parent ON threads (tenant, parent, born) WHERE born IS NOT NULL AND parent <> '';
CREATE INDEX threads_by_user   ON threads (tenant, user, born) WHERE born IS NOT NULL AND user <> '';

CREATE TABLE changes (
    pos          INTEGER PRIMARY KEY,         -- order of the whole store; never used twice
    thread       INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    prev         INTEGER NOT NULL,            -- position of the change before it; 0: none is left
    state_prev   INTEGER NOT NULL,            -- position of the change of the state before it; 0: none
    message_prev INTEGER NOT NULL,            -- position of the change before it that added messages; 0: none
    effect       INTEGER NOT NULL,            -- on the state: 0 none, 1 patches it, 2 replaces it
    first_seq    INTEGER NOT NULL,
    added        INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    reason       INTEGER NOT NULL,
    id           ANY     NOT NULL,
    run          ANY,
    parent_run   ANY,
    dropped      TEXT,                        -- indexes of messages that were known already
    salt         BLOB    NOT NULL,
    content      BLOB    NOT NULL,
    hash         BLOB    NOT NULL,
    prev_hash    BLOB,                        -- where the change before it is gone
    codec        INTEGER NOT NULL DEFAULT 0,  -- of rest and messages: 0 as received
    sizes        BLOB,                        -- varints: where the messages but the last end
    rest         BLOB,                        -- NULL: {}
    messages     BLOB
) STRICT;

CREATE TABLE marks (
    thread    INTEGER NOT NULL,
    version   INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    pos       INTEGER NOT NULL,
    PRIMARY KEY (thread, version)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX marks_by_seq ON marks (thread, first_seq, version);

CREATE TABLE ids (
    key    BLOB    NOT NULL, -- a UUIDv7, or 0xff, the thread and what the id hashes to
    thread INTEGER NOT NULL,
    kind   INTEGER NOT NULL, -- 0 a change set, 1 a message
    pos    INTEGER NOT NULL,
    PRIMARY KEY (key, thread, kind)
) STRICT, WITHOUT ROWID;

-- A row is written when a run is created and when it is done. Between the two
-- the head of its thread holds what became of it.
CREATE TABLE runs (
    key        INTEGER PRIMARY KEY, -- order of creation
    tenant     TEXT    NOT NULL DEFAULT '',
    id         TEXT    NOT NULL,
    thread     INTEGER NOT NULL,
    agent      TEXT    NOT NULL DEFAULT '',
    parent     TEXT    NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    open       INTEGER NOT NULL,
    spec       TEXT,                -- what it was resolved to; never changes
    data       TEXT    NOT NULL,    -- the rest of it
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX runs_by_thread ON runs (thread, key);
CREATE INDEX runs_by_parent ON runs (tenant, parent, key) WHERE parent <> '';
CREATE INDEX runs_open      ON runs (tenant, key) WHERE open = 1;

-- Tool calls that have ended. The open ones stand in the head of their thread.
CREATE TABLE calls (
    key    INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    id     TEXT    NOT NULL,
    data   TEXT    NOT NULL,
    UNIQUE (thread, id)
) STRICT;

-- State documents that save a reader the way. Losing one costs time, not data.
CREATE TABLE state_cache (
    key     INTEGER PRIMARY KEY,
    thread  INTEGER NOT NULL,
    version INTEGER NOT NULL,
    pos     INTEGER NOT NULL, -- of the change it stands after
    digest  BLOB    NOT NULL, -- of that change's hash and the document
    doc     BLOB    NOT NULL,
    UNIQUE (thread, version)
) STRICT;

-- How deliveries stand. What they say stands in the change. Of one that is
-- claimed available_at is when its lease runs out.
CREATE TABLE outbox (
    key          INTEGER PRIMARY KEY,
    tenant       TEXT    NOT NULL DEFAULT '',
    thread       INTEGER NOT NULL,
    version      INTEGER NOT NULL, -- of the change
    item         INTEGER NOT NULL, -- the entry's index in it
    pos          INTEGER NOT NULL, -- of the change
    lane         TEXT    NOT NULL,
    target       TEXT    NOT NULL,
    dedupe       BLOB,             -- what its dedupe key is known by
    digest       BLOB,             -- of the payload, if there is a dedupe key
    status       INTEGER NOT NULL DEFAULT 0, -- 0 due, 1 delivered, 2 dead
    available_at INTEGER NOT NULL,
    attempts     INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    claim_owner  TEXT,
    claim_token  TEXT,
    last_error   TEXT,
    done_at      INTEGER,          -- when it was delivered
    UNIQUE (thread, version, item)
) STRICT;

CREATE INDEX outbox_due           ON outbox (lane, available_at, pos, item) WHERE status = 0;
CREATE INDEX outbox_due_of_tenant ON outbox (tenant, lane, available_at, pos, item) WHERE status = 0;
CREATE INDEX outbox_done          ON outbox (done_at) WHERE status = 1;
CREATE UNIQUE INDEX outbox_by_key ON outbox (tenant, dedupe) WHERE dedupe IS NOT NULL;

-- Files and images, by the SHA-256 of their content.
CREATE TABLE blobs (
    key    INTEGER PRIMARY KEY,
    tenant TEXT    NOT NULL DEFAULT '',
    id     BLOB    NOT NULL,
    size   INTEGER NOT NULL,
    put_at INTEGER NOT NULL, -- when it was last put
    UNIQUE (tenant, id)
) STRICT;

CREATE INDEX blobs_by_age ON blobs (put_at);

CREATE TABLE blob_chunks (
    key  INTEGER PRIMARY KEY,
    blob INTEGER NOT NULL,
    n    INTEGER NOT NULL,
    data BLOB    NOT NULL,
    UNIQUE (blob, n)
) STRICT;

-- Which changes carry a message that refers to a blob.
CREATE TABLE blob_refs (
    thread  INTEGER NOT NULL,
    version INTEGER NOT NULL,
    blob    INTEGER NOT NULL,
    PRIMARY KEY (thread, version, blob)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_refs_by_blob ON blob_refs (blob);

-- What is kept besides threads: memory, configuration, audit, stream
-- checkpoints, replay. Which of them is the space; what keys and values mean is
-- store/record's to know. Values may be large: a rowid table.
CREATE TABLE records (
    tenant  TEXT NOT NULL DEFAULT '',
    space   TEXT NOT NULL,
    key     BLOB NOT NULL,
    thread  TEXT,    -- the thread it is deleted with
    expires INTEGER, -- when it is over
    value   BLOB NOT NULL,
    UNIQUE (tenant, space, key)
) STRICT;

CREATE INDEX records_of_thread ON records (tenant, thread)  WHERE thread IS NOT NULL;
CREATE INDEX records_by_expiry ON records (tenant, expires) WHERE expires IS NOT NULL;

-- Marks the file as ours, and says in the header what an open looks for first.
PRAGMA application_id = 1399155830;
PRAGMA user_version = 1;
