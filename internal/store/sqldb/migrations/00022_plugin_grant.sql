-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- What administrators granted to plugins, by the ids of the plugins: permissions of the admin
-- interface and hosts, separated by commas, and whether scripts may use classes of Java. revision
-- grows with every change. Dates are milliseconds since 1970.
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
