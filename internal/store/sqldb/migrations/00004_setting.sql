-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- One row for each change of the cluster-wide settings; the newest one applies. overrides is a JSON
-- object with all values that the cluster overrides after the change, by the path of the property;
-- changes is a JSON array that describes the change.
CREATE TABLE setting_revision (
    revision BIGINT NOT NULL PRIMARY KEY,
    admin_id BIGINT NOT NULL,
    change_date BIGINT NOT NULL,
    action TEXT NOT NULL,
    overrides TEXT NOT NULL,
    changes TEXT NOT NULL
);

-- +goose Down
DROP TABLE setting_revision;
