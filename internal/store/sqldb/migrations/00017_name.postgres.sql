-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Users and groups are found by how their names begin. Letters A to Z are alike in both cases on
-- every engine.
CREATE INDEX user_account_name_idx ON user_account (lower(name COLLATE "C"), id);
CREATE INDEX im_group_name_idx ON im_group (lower(name COLLATE "C"), id);

-- +goose Down
DROP INDEX im_group_name_idx;
DROP INDEX user_account_name_idx;
