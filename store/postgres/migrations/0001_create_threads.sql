-- Threads, their logs, and what is looked up about them. Forward only: never
-- edit this file once it has been released, add the next one.
--
--  * The head of a thread, its open run included, is one row of threads. Every
--    append rewrites it in place (HOT): its page keeps room for that, and no
--    index may name a column that an append changes.
--  * A change is one row of changes. What was received stands in it once, not
--    compressed by the database, which could only try in vain: EXTERNAL.
--  * What must not be there twice, the id of a change set and those of its
--    messages, is in unique keys and not only looked up: they hold also against
--    who looked at the same time.
--
-- Tenant and thread lead every key, so that the tables can be distributed by
-- tenant (Citus) and that neighbours in a key are neighbours in use. What
-- orders the whole store, changes_by_ord, has nothing else to begin with: on a
-- database that splits tables by ranges (CockroachDB, Yugabyte) make it a
-- hash-sharded index. There is no sequence and no serial column.
--
-- Ids are bytes: 0x00 and 16 bytes where they are canonical UUIDs, else their
-- text. Times are Unix milliseconds; those that the database compares with its
-- own clock are timestamptz. What is empty is NULL where NULL is allowed. JSON
-- is bytea: text and jsonb refuse U+0000 and jsonb rewrites numbers.

-- +goose Up
CREATE TABLE selvage.meta (
    key   text PRIMARY KEY,
    value bytea NOT NULL
);

INSERT INTO selvage.meta (key, value) VALUES
    -- Raised when the database is restored from a backup.
    ('generation', int8send(1)),
    -- Seals the cursors of this database.
    ('cursor_key', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

CREATE TABLE selvage.threads (
    -- The head. Every append rewrites it.
    version       bigint  NOT NULL DEFAULT 0, -- 0: leased, not created yet
    ord           bigint  NOT NULL DEFAULT 0, -- order of the last change, see changes
    next_seq      bigint  NOT NULL DEFAULT 1,
    state_version bigint  NOT NULL DEFAULT 0, -- of the last change of the state
    updated_at    bigint  NOT NULL DEFAULT 0,
    epoch         bigint  NOT NULL DEFAULT 0, -- fences appends; raised by every lease

    -- What stays for a life.
    born          bigint  NOT NULL DEFAULT 0, -- order of the change that created it; 0: cannot be read
    created_at    bigint  NOT NULL DEFAULT 0,
    tombstone     bigint  NOT NULL DEFAULT 0, -- version of the end of the life before
    first_seq     bigint  NOT NULL DEFAULT 1, -- of this life
    horizon       bigint  NOT NULL DEFAULT 0, -- state below this version was compacted away
    expires_at    bigint,

    -- The lease. Claims and renewals are not versions.
    lease_until   timestamptz,
    ready_at      timestamptz,                -- when queued work of the thread is due

    deleted       boolean NOT NULL DEFAULT false,
    tenant        text    COLLATE "C" NOT NULL DEFAULT '',
    thread        bytea   NOT NULL,
    hash          bytea   NOT NULL,           -- of the last change
    open_run      bytea,                      -- id of the run that is not done
    run           bytea,                      -- that run, its spec left out
    calls         bytea,                      -- the open tool calls
    parent        bytea,
    user_id       text    COLLATE "C",
    info          bytea,                      -- what else the thread says about itself
    lease_token   text,
    lease_owner   bytea,
    lease_took    bytea,                      -- whose lease this one ended
    rewinds       bytea,                      -- varints: where the history of this life jumps

    PRIMARY KEY (tenant, thread)
) WITH (fillfactor = 50);

CREATE INDEX threads_by_birth   ON selvage.threads (tenant, born) WHERE born > 0;
CREATE INDEX threads_by_parent  ON selvage.threads (tenant, parent, born) WHERE born > 0 AND parent IS NOT NULL;
CREATE INDEX threads_by_user    ON selvage.threads (tenant, user_id, born) WHERE born > 0 AND user_id IS NOT NULL;
CREATE INDEX threads_by_expiry  ON selvage.threads (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX threads_that_wait  ON selvage.threads (ready_at) WHERE ready_at IS NOT NULL;

CREATE TABLE selvage.changes (
    version    bigint   NOT NULL,
    -- Order of the whole store: generation << 48, and below it the number of
    -- the transaction, or of the one of the change before if that is greater.
    -- Readers stay below the snapshot's xmin.
    ord        bigint   NOT NULL,
    at         bigint   NOT NULL,
    first_seq  bigint   NOT NULL,
    added      integer  NOT NULL,
    reason     smallint NOT NULL,
    effect     smallint NOT NULL,             -- on the state: 0 none, 1 patches it, 2 replaces it
    codec      smallint NOT NULL DEFAULT 0,   -- of rest and messages: 0 as received
    tenant     text     COLLATE "C" NOT NULL DEFAULT '',
    thread     bytea    NOT NULL,
    id         bytea    NOT NULL,
    run        bytea,
    parent_run bytea,
    dropped    bytea,                         -- varints: indexes of messages that were known already
    salt       bytea    NOT NULL,
    content    bytea    NOT NULL,
    hash       bytea    NOT NULL,
    prev       bytea,                         -- hash of the change before where its row is gone
    sizes      bytea,                         -- varints: lengths of the messages but the last
    rest       bytea,                         -- NULL: {}
    messages   bytea,
    PRIMARY KEY (tenant, thread, version),
    UNIQUE (tenant, thread, id)               -- makes an append repeatable
);
ALTER TABLE selvage.changes
    ALTER COLUMN rest     SET STORAGE EXTERNAL,
    ALTER COLUMN messages SET STORAGE EXTERNAL;

CREATE INDEX changes_by_ord ON selvage.changes (ord);

-- The ids of the messages that are there, as the first 12 bytes of their SHA-256.
CREATE TABLE selvage.message_ids (
    tenant text  COLLATE "C" NOT NULL DEFAULT '',
    thread bytea NOT NULL,
    id     bytea NOT NULL,
    PRIMARY KEY (tenant, thread, id)
);

-- A row is written when a run is created and when it is done. Between the two
-- the head of its thread holds what became of it.
CREATE TABLE selvage.runs (
    born       bigint  NOT NULL,              -- order of the change that created it
    version    bigint  NOT NULL,              -- of that change
    created_at bigint  NOT NULL,
    item       integer NOT NULL,              -- index in that change
    open       boolean NOT NULL,
    tenant     text    COLLATE "C" NOT NULL DEFAULT '',
    id         bytea   NOT NULL,
    thread     bytea   NOT NULL,
    agent      bytea,
    parent     bytea,
    spec       bytea,                         -- what it was resolved to; never changes
    data       bytea   NOT NULL,              -- the rest of it
    PRIMARY KEY (tenant, id)
) WITH (fillfactor = 80);

CREATE INDEX runs_by_birth  ON selvage.runs (tenant, born);
CREATE INDEX runs_by_thread ON selvage.runs (tenant, thread, born);
CREATE INDEX runs_open      ON selvage.runs (tenant, born) WHERE open;
CREATE INDEX runs_by_parent ON selvage.runs (tenant, parent, born) WHERE parent IS NOT NULL;

-- Tool calls, written like runs: when journalled, and when they have ended.
CREATE TABLE selvage.calls (
    tenant text  COLLATE "C" NOT NULL DEFAULT '',
    thread bytea NOT NULL,
    id     bytea NOT NULL,
    data   bytea NOT NULL,
    PRIMARY KEY (tenant, thread, id)
) WITH (fillfactor = 80);

-- State documents that save a reader the way. Losing one costs time, not data.
CREATE TABLE selvage.state_cache (
    version bigint NOT NULL,
    tenant  text   COLLATE "C" NOT NULL DEFAULT '',
    thread  bytea  NOT NULL,
    digest  bytea  NOT NULL,                  -- of thread, version and document
    doc     bytea  NOT NULL,
    PRIMARY KEY (tenant, thread, version)
);

-- How deliveries stand. What they say stands in the change. Of one that is
-- claimed available_at is when its lease runs out.
CREATE TABLE selvage.outbox (
    version      bigint   NOT NULL,           -- of the change
    ord          bigint   NOT NULL,           -- order of the change
    available_at timestamptz NOT NULL,
    done_at      timestamptz,                 -- when it was delivered
    item         integer  NOT NULL,           -- the entry's index in it
    attempts     integer  NOT NULL DEFAULT 0,
    max_attempts integer  NOT NULL,
    status       smallint NOT NULL DEFAULT 0, -- 0 due, 1 delivered, 2 dead
    tenant       text     COLLATE "C" NOT NULL DEFAULT '',
    thread       bytea    NOT NULL,
    lane         text     COLLATE "C" NOT NULL,
    target       text     COLLATE "C" NOT NULL,
    dedupe       bytea,                       -- what its dedupe key is known by
    digest       bytea,                       -- of the payload, if there is a dedupe key
    claim_owner  text,
    claim_token  text,
    last_error   text,
    PRIMARY KEY (tenant, thread, version, item)
) WITH (fillfactor = 80);

-- A worker for all tenants claims by the first, one of a tenant by the second.
CREATE INDEX outbox_due           ON selvage.outbox (lane, available_at) WHERE status = 0;
CREATE INDEX outbox_due_of_tenant ON selvage.outbox (tenant, lane, available_at) WHERE status = 0;
CREATE INDEX outbox_done          ON selvage.outbox (tenant, done_at) WHERE status = 1;
CREATE UNIQUE INDEX outbox_by_key ON selvage.outbox (tenant, dedupe) WHERE dedupe IS NOT NULL;

-- Files and images, by the SHA-256 of their content.
CREATE TABLE selvage.blobs (
    size   bigint      NOT NULL,
    put_at timestamptz NOT NULL,              -- when it was last put
    tenant text        COLLATE "C" NOT NULL DEFAULT '',
    id     bytea       NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE INDEX blobs_by_age ON selvage.blobs (tenant, put_at);

CREATE TABLE selvage.blob_chunks (
    n      integer NOT NULL,
    tenant text    COLLATE "C" NOT NULL DEFAULT '',
    id     bytea   NOT NULL,
    data   bytea   NOT NULL,
    PRIMARY KEY (tenant, id, n),
    FOREIGN KEY (tenant, id) REFERENCES selvage.blobs (tenant, id) ON DELETE CASCADE
);
ALTER TABLE selvage.blob_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

-- Which changes carry a message that refers to a blob, which stays as long.
CREATE TABLE selvage.blob_refs (
    version bigint NOT NULL,
    tenant  text   COLLATE "C" NOT NULL DEFAULT '',
    thread  bytea  NOT NULL,
    blob    bytea  NOT NULL,
    PRIMARY KEY (tenant, thread, version, blob),
    FOREIGN KEY (tenant, blob) REFERENCES selvage.blobs (tenant, id)
);

CREATE INDEX blob_refs_by_blob ON selvage.blob_refs (tenant, blob);

-- What is kept besides threads: memory, configuration, audit, stream
-- checkpoints, replay. Which of them is the space; what keys and values mean is
-- store/record's to know.
CREATE TABLE selvage.records (
    expires bigint,                            -- when it is over
    tenant  text  COLLATE "C" NOT NULL DEFAULT '',
    space   text  COLLATE "C" NOT NULL,
    key     bytea NOT NULL,
    thread  bytea,                             -- the thread it is deleted with
    value   bytea NOT NULL,
    PRIMARY KEY (tenant, space, key)
) WITH (fillfactor = 80);

CREATE INDEX records_of_thread ON selvage.records (tenant, thread)  WHERE thread IS NOT NULL;
CREATE INDEX records_by_expiry ON selvage.records (tenant, expires) WHERE expires IS NOT NULL;
