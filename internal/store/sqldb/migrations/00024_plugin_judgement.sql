-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- What a version that runs beside the active one may do worse. max_latency_percentage: how long the
-- slowest hundredth of its calls may take, in percent of those of the active version; 0 is any
-- time. max_refusal_percentage: how many more of a hundred calls it may refuse; -1 is any number.
ALTER TABLE plugin_rollout ADD COLUMN max_latency_percentage INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plugin_rollout ADD COLUMN max_refusal_percentage INTEGER NOT NULL DEFAULT -1;

-- +goose Down
ALTER TABLE plugin_rollout DROP COLUMN max_refusal_percentage;
ALTER TABLE plugin_rollout DROP COLUMN max_latency_percentage;
