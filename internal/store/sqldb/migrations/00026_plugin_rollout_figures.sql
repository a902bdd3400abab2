-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The maximum number of different results per hundred copied calls, in a rollout with a shadow; -1
-- means no limit. And the figures that the nodes collected until the end of the rollout, as a JSON
-- object; NULL before.
ALTER TABLE plugin_rollout ADD COLUMN max_difference_percentage INTEGER NOT NULL DEFAULT -1;
ALTER TABLE plugin_rollout ADD COLUMN figures TEXT NOT NULL DEFAULT 'null';

-- +goose Down
ALTER TABLE plugin_rollout DROP COLUMN figures;
ALTER TABLE plugin_rollout DROP COLUMN max_difference_percentage;
