-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- What users keep on the server for the programs that they use. settings is a JSON object that is
-- not empty.
CREATE TABLE user_setting (
    user_id BIGINT NOT NULL PRIMARY KEY,
    settings TEXT NOT NULL,
    last_updated_date BIGINT NOT NULL
);

-- The same about each of their conversations. target_id is a group or a user, as is_group says.
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
