-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- One text serves both engines. BYTEA is PostgreSQL's name; SQLite gives such a column numeric
-- affinity, which leaves bytes as they are. BIGINT dates are milliseconds since 1970 in UTC.
-- Unnamed constraints on purpose: PostgreSQL's default names (table_pkey, table_column_key) are the
-- ones that the store reports for both engines.
CREATE TABLE admin (
    id BIGINT NOT NULL PRIMARY KEY,
    login_name TEXT NOT NULL UNIQUE,
    password BYTEA NOT NULL,
    display_name TEXT NOT NULL,
    registration_date BIGINT NOT NULL
);

-- role_id has no foreign key: a membership may outlive its role, and the reader ignores it.
CREATE TABLE admin_role_member (
    admin_id BIGINT NOT NULL REFERENCES admin (id) ON DELETE CASCADE,
    role_id BIGINT NOT NULL,
    PRIMARY KEY (admin_id, role_id)
);

CREATE INDEX admin_role_member_role_id_idx ON admin_role_member (role_id);

CREATE TABLE admin_role (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    rank INTEGER NOT NULL,
    creation_date BIGINT NOT NULL
);

CREATE TABLE admin_role_permission (
    role_id BIGINT NOT NULL REFERENCES admin_role (id) ON DELETE CASCADE,
    permission TEXT NOT NULL,
    PRIMARY KEY (role_id, permission)
);

CREATE INDEX admin_role_permission_permission_idx ON admin_role_permission (permission);

-- A counter per named collection that every change of the collection bumps in its own transaction.
CREATE TABLE revision (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

-- Values that the cluster creates once and shares from then on.
CREATE TABLE cluster_value (
    name TEXT NOT NULL PRIMARY KEY,
    value BYTEA NOT NULL
);

-- +goose Down
DROP TABLE cluster_value;
DROP TABLE revision;
DROP TABLE admin_role_permission;
DROP TABLE admin_role;
DROP TABLE admin_role_member;
DROP TABLE admin;
