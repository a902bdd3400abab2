-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- This file is for both engines. BYTEA is PostgreSQL's name; SQLite gives such a column numeric
-- affinity, which does not change bytes. Dates are BIGINT, in milliseconds since 1970 in UTC.
-- Constraints have no names, so that they get the default names of PostgreSQL (table_pkey,
-- table_column_key), which the store reports for both engines.
CREATE TABLE admin (
    id BIGINT NOT NULL PRIMARY KEY,
    login_name TEXT NOT NULL UNIQUE,
    password BYTEA NOT NULL,
    display_name TEXT NOT NULL,
    registration_date BIGINT NOT NULL
);

-- role_id has no foreign key: a membership may remain when its role is deleted, and is ignored
-- then.
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

-- The revisions of collections. Each change of a collection increments its revision in the same
-- transaction.
CREATE TABLE revision (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

-- Values that the first node creates and all nodes of the cluster share.
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
