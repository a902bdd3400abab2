-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Settings that client programs store for a user. settings is a non-empty JSON object.
CREATE TABLE user_setting (
    user_id BIGINT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL,
    last_updated_date BIGINT NOT NULL
);

-- Settings that client programs store for a conversation of a user. target_id is the id of a group
-- or a user, depending on is_group.
CREATE TABLE conversation_setting (
    owner_id BIGINT NOT NULL,
    is_group BOOLEAN NOT NULL,
    target_id BIGINT NOT NULL,
    settings TEXT NOT NULL,
    last_updated_date BIGINT NOT NULL,
    PRIMARY KEY (owner_id, is_group, target_id)
);

CREATE INDEX conversation_setting_target_id_idx ON conversation_setting (target_id, is_group);

-- +goose Down
DROP TABLE conversation_setting;
DROP TABLE user_setting;
