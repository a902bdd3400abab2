-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- The steps of a rollout by users as a JSON list, each with a percentage, the time after which the
-- next one begins, when it began and why it ended. percentage and promote_after_millis are those of
-- the step that is under way.
ALTER TABLE plugin_rollout ADD COLUMN steps TEXT NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE plugin_rollout DROP COLUMN steps;
