-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The idempotency keys of requests to send a message, with the created message, so that a repeated
-- request does not create another one. Rows expire at expiry_date.
CREATE TABLE message_key (
    sender_id BIGINT NOT NULL,
    request_key BYTEA NOT NULL,
    message_id BIGINT NOT NULL,
    expiry_date BIGINT NOT NULL,
    PRIMARY KEY (sender_id, request_key)
);

CREATE INDEX message_key_expiry_date_idx ON message_key (expiry_date);

-- +goose Down
DROP TABLE message_key;
