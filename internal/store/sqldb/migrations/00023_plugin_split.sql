-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- How nodes run the version of a rollout. With mode NODES, those in node_ids run it instead of the
-- active version. With mode USERS, they run both: the version for the percentage of users and for
-- those in user_ids, which are separated by commas; node_ids '' means all nodes.
ALTER TABLE plugin_rollout ADD COLUMN mode TEXT NOT NULL DEFAULT 'NODES';
ALTER TABLE plugin_rollout ADD COLUMN percentage INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plugin_rollout ADD COLUMN user_ids TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE plugin_rollout DROP COLUMN user_ids;
ALTER TABLE plugin_rollout DROP COLUMN percentage;
ALTER TABLE plugin_rollout DROP COLUMN mode;
