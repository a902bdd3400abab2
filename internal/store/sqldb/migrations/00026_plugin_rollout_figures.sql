-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- How many of a hundred copies of calls may end otherwise in a rollout with copies; -1 is any
-- number. And what nodes have seen of a rollout until its end, as a JSON object; null before.
ALTER TABLE plugin_rollout ADD COLUMN max_difference_percentage INTEGER NOT NULL DEFAULT -1;
ALTER TABLE plugin_rollout ADD COLUMN figures TEXT NOT NULL DEFAULT 'null';

-- +goose Down
ALTER TABLE plugin_rollout DROP COLUMN figures;
ALTER TABLE plugin_rollout DROP COLUMN max_difference_percentage;
