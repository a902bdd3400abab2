-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Tokens and sessions of administrators. hash is the SHA-256 digest of the token; the token itself
-- is not stored. permissions and networks are comma-separated lists; NULL permissions means those
-- of the owner. Dates are milliseconds since 1970; NULL means none.
CREATE TABLE admin_token (
    id BIGINT NOT NULL PRIMARY KEY,
    owner_id BIGINT NOT NULL REFERENCES admin (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    hash BYTEA NOT NULL UNIQUE,
    permissions TEXT,
    networks TEXT NOT NULL,
    creation_date BIGINT NOT NULL,
    expiration_date BIGINT NOT NULL,
    last_use_date BIGINT
);

CREATE INDEX admin_token_owner_id_idx ON admin_token (owner_id);
CREATE INDEX admin_token_expiration_date_idx ON admin_token (expiration_date);

-- +goose Down
DROP TABLE admin_token;
