-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The steps of a rollout by users as a JSON array, each with a percentage, the time until the next
-- one, when it began and why it ended. percentage and promote_after_millis are those of the current
-- step.
ALTER TABLE plugin_rollout ADD COLUMN steps TEXT NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE plugin_rollout DROP COLUMN steps;
