-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Rollouts: versions of plugins of the cluster that some nodes run before the others. number is the
-- version, node_ids are the nodes, separated by commas. reason is why the rollout ended, '' before.
-- step_date is the start of the current observation; promote_after_millis 0 means that an
-- administrator promotes the version. Dates are milliseconds since 1970; NULL means none.
CREATE TABLE plugin_rollout (
    id BIGINT NOT NULL PRIMARY KEY,
    plugin_id TEXT NOT NULL REFERENCES cluster_plugin (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    node_ids TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    max_error_percentage INTEGER NOT NULL,
    min_calls BIGINT NOT NULL,
    promote_after_millis BIGINT NOT NULL,
    admin_id BIGINT NOT NULL,
    start_date BIGINT NOT NULL,
    step_date BIGINT NOT NULL,
    end_date BIGINT
);

CREATE INDEX plugin_rollout_plugin_id_idx ON plugin_rollout (plugin_id, id);

-- +goose Down
DROP TABLE plugin_rollout;
