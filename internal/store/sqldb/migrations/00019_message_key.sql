-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Requests to send a message that have a key, and the messages that they made, so that a request
-- that comes again makes no second message. Rows are forgotten after expiry_date.
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
