-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Limits for a version that runs beside the active one. max_latency_percentage is the maximum 99th
-- percentile of the duration of its calls, in percent of that of the active version; 0 means no
-- limit. max_refusal_percentage is the maximum number of additional refusals per hundred calls; -1
-- means no limit.
ALTER TABLE plugin_rollout ADD COLUMN max_latency_percentage INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plugin_rollout ADD COLUMN max_refusal_percentage INTEGER NOT NULL DEFAULT -1;

-- +goose Down
ALTER TABLE plugin_rollout DROP COLUMN max_refusal_percentage;
ALTER TABLE plugin_rollout DROP COLUMN max_latency_percentage;
