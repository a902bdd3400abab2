-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The cost of a row of the audit trail is added to every write of an administrator. Therefore a row
-- is written once and never changed, has no index but its primary key, and one column, details, a
-- JSON object, for everything that is not searched. Rows are sealed in blocks: records contains the
-- id, 8 bytes, and the digest, 32 bytes, of each row; hash covers the block and the previous hash.
-- The key must be INTEGER: it is then the rowid of SQLite, and needs no index. Rows from before
-- this migration are kept and sealed again, with params and changes as strings in details; their
-- sequence numbers and hashes are dropped.
CREATE TABLE audit_new (
    id INTEGER NOT NULL PRIMARY KEY,
    record_date BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    admin_id BIGINT,
    login_name TEXT NOT NULL,
    token_id BIGINT,
    plugin_id TEXT NOT NULL,
    ip BYTEA,
    request_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    target_ids TEXT NOT NULL,
    details TEXT NOT NULL
);

INSERT INTO audit_new
SELECT id, record_date, outcome, admin_id, login_name, token_id, plugin_id, ip, request_id, operation, target_ids,
    json_object('node', node_id, 'version', plugin_version, 'onBehalfOf', on_behalf_of, 'code', code, 'status', status,
        'reason', reason, 'omitted', omitted_changes, 'params', params, 'changes', changes)
FROM audit;

DROP TABLE audit;
ALTER TABLE audit_new RENAME TO audit;

CREATE TABLE audit_seal (
    sequence BIGINT NOT NULL PRIMARY KEY,
    last_id BIGINT NOT NULL,
    last_date BIGINT NOT NULL,
    records BYTEA NOT NULL,
    hash BYTEA NOT NULL
);

CREATE INDEX audit_seal_last_id_idx ON audit_seal (last_id);

-- The seals were searched for rows with ids up to searched_id.
DROP TABLE audit_chain;
CREATE TABLE audit_chain (
    id INTEGER NOT NULL PRIMARY KEY,
    sequence BIGINT NOT NULL,
    hash BYTEA NOT NULL,
    removed_sequence BIGINT NOT NULL,
    removed_hash BYTEA NOT NULL,
    searched_id BIGINT NOT NULL
);
