-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The files of the plugins of the cluster, in chunks. digest is the SHA-256 digest of the file in
-- hexadecimal. A file without a version was not uploaded completely or is no longer needed. Dates
-- are milliseconds since 1970.
CREATE TABLE plugin_file (
    digest TEXT NOT NULL PRIMARY KEY,
    size BIGINT NOT NULL,
    upload_date BIGINT NOT NULL
);

CREATE TABLE plugin_chunk (
    digest TEXT NOT NULL REFERENCES plugin_file (digest) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (digest, number)
);

-- The plugins of the cluster, with the active version and the state that all nodes bring it to.
-- place is the order in which nodes call them; revision increases with every change.
CREATE TABLE cluster_plugin (
    id TEXT NOT NULL PRIMARY KEY,
    place BIGINT NOT NULL,
    number BIGINT NOT NULL,
    status TEXT NOT NULL,
    revision BIGINT NOT NULL,
    admin_id BIGINT NOT NULL,
    change_date BIGINT NOT NULL
);

-- The versions of the plugins, numbered from 1. version is the one in the descriptor; servers are
-- the roles that load it, separated by commas, '' for all.
CREATE TABLE plugin_version (
    plugin_id TEXT NOT NULL REFERENCES cluster_plugin (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    version TEXT NOT NULL,
    language TEXT NOT NULL,
    file_name TEXT NOT NULL,
    digest TEXT NOT NULL REFERENCES plugin_file (digest),
    size BIGINT NOT NULL,
    servers TEXT NOT NULL,
    admin_id BIGINT NOT NULL,
    upload_date BIGINT NOT NULL,
    PRIMARY KEY (plugin_id, number)
);

CREATE INDEX plugin_version_digest_idx ON plugin_version (digest);

-- +goose Down
DROP TABLE plugin_version;
DROP TABLE cluster_plugin;
DROP TABLE plugin_chunk;
DROP TABLE plugin_file;
