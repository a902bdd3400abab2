-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The audit trail: changes by administrators, tokens and plugins, and refused requests. A row is
-- written in the transaction of the change, without a sequence number. Sealing it later assigns the
-- next sequence number and a hash of the row and the previous hash. Every index makes every write
-- of an administrator slower, so there are few: ids increase with time, and dates are found by id.
-- target_ids is a list with a comma before, between and after its elements; params and changes are
-- JSON. NULL means none.
CREATE TABLE audit (
    id BIGINT NOT NULL PRIMARY KEY,
    sequence BIGINT,
    hash BYTEA,
    record_date BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    admin_id BIGINT,
    login_name TEXT NOT NULL,
    token_id BIGINT,
    plugin_id TEXT NOT NULL,
    plugin_version TEXT NOT NULL,
    on_behalf_of TEXT NOT NULL,
    ip BYTEA,
    node_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    target_ids TEXT NOT NULL,
    params TEXT,
    changes TEXT,
    omitted_changes BIGINT NOT NULL,
    code INTEGER NOT NULL,
    status INTEGER NOT NULL,
    reason TEXT NOT NULL
);

CREATE UNIQUE INDEX audit_sequence_key ON audit (sequence) WHERE sequence IS NOT NULL;
CREATE INDEX audit_unsealed_idx ON audit (id) WHERE sequence IS NULL;

-- The ends of the chain of sealed rows: the last one, and the last one that was removed because of
-- its age.
CREATE TABLE audit_chain (
    id INTEGER NOT NULL PRIMARY KEY,
    sequence BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    removed_sequence BIGINT NOT NULL,
    removed_hash BYTEA NOT NULL
);

-- +goose Down
DROP TABLE audit_chain;
DROP TABLE audit;
