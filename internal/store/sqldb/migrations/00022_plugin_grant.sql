-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- What administrators granted to plugins, by plugin id: permissions of the admin API and hosts,
-- separated by commas, and whether scripts may use Java classes. revision increases with every
-- change. Dates are milliseconds since 1970.
CREATE TABLE plugin_grant (
    plugin_id TEXT NOT NULL PRIMARY KEY,
    permissions TEXT NOT NULL,
    hosts TEXT NOT NULL,
    java BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    admin_id BIGINT NOT NULL,
    change_date BIGINT NOT NULL
);

-- +goose Down
DROP TABLE plugin_grant;
