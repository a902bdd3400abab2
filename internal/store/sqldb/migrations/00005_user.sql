-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Users. An empty password means none. profile_access_strategy is the number of an enumeration
-- value. user_defined_attributes is a JSON object. A user with a deletion_date is logically
-- deleted. role_id has no foreign key: a user may remain when the role is deleted.
CREATE TABLE user_account (
    id BIGINT NOT NULL PRIMARY KEY,
    password BYTEA NOT NULL,
    name TEXT NOT NULL,
    intro TEXT NOT NULL,
    profile_picture TEXT,
    profile_access_strategy INTEGER NOT NULL,
    role_id BIGINT NOT NULL,
    registration_date BIGINT NOT NULL,
    deletion_date BIGINT,
    last_updated_date BIGINT NOT NULL,
    is_active BOOLEAN NOT NULL,
    user_defined_attributes TEXT
);

-- Pages are ordered by id, so the indexes for filters end with the id.
CREATE INDEX user_account_registration_date_idx ON user_account (registration_date, id);
CREATE INDEX user_account_deletion_date_idx ON user_account (deletion_date, id) WHERE deletion_date IS NOT NULL;
CREATE INDEX user_account_is_active_idx ON user_account (is_active, id);

-- Permissions of users. creatable_group_type_ids is a JSON array of ids in ascending order,
-- group_type_id_to_limit a JSON object of numbers by id.
CREATE TABLE user_role (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT,
    creatable_group_type_ids TEXT NOT NULL,
    owned_group_limit INTEGER NOT NULL,
    owned_group_limit_for_each_group_type INTEGER NOT NULL,
    group_type_id_to_limit TEXT NOT NULL
);

-- The role of users without another one.
INSERT INTO user_role (id, name, creatable_group_type_ids, owned_group_limit, owned_group_limit_for_each_group_type, group_type_id_to_limit)
VALUES (0, 'default', '[0]', 2147483647, 2147483647, '{}');

-- The relationships of an owner to other users. Neither needs to have an account. A relationship
-- with a block_date is blocked.
CREATE TABLE relationship (
    owner_id BIGINT NOT NULL,
    related_user_id BIGINT NOT NULL,
    name TEXT,
    block_date BIGINT,
    establishment_date BIGINT NOT NULL,
    PRIMARY KEY (owner_id, related_user_id)
);

CREATE INDEX relationship_related_user_id_idx ON relationship (related_user_id, owner_id);
-- Few relationships are blocked; the others are found by a scan of the primary key.
CREATE INDEX relationship_blocked_idx ON relationship (owner_id, related_user_id) WHERE block_date IS NOT NULL;
CREATE INDEX relationship_establishment_date_idx ON relationship (establishment_date, owner_id, related_user_id);

-- The groups of an owner's relationships. Every owner has the group with index 0.
CREATE TABLE relationship_group (
    owner_id BIGINT NOT NULL,
    group_index INTEGER NOT NULL,
    name TEXT NOT NULL,
    creation_date BIGINT NOT NULL,
    PRIMARY KEY (owner_id, group_index)
);

CREATE INDEX relationship_group_group_index_idx ON relationship_group (group_index, owner_id);
CREATE INDEX relationship_group_name_idx ON relationship_group (name, owner_id, group_index);
CREATE INDEX relationship_group_creation_date_idx ON relationship_group (creation_date, owner_id, group_index);

-- The members of an owner's relationship groups. Every related user is in at least one. A
-- membership ends with the relationship.
CREATE TABLE relationship_group_member (
    owner_id BIGINT NOT NULL,
    related_user_id BIGINT NOT NULL,
    group_index INTEGER NOT NULL,
    PRIMARY KEY (owner_id, related_user_id, group_index),
    FOREIGN KEY (owner_id, related_user_id) REFERENCES relationship (owner_id, related_user_id) ON DELETE CASCADE
);

CREATE INDEX relationship_group_member_group_index_idx ON relationship_group_member (group_index, owner_id, related_user_id);

-- Friend requests. status is the number of an enumeration value. Expiry of a pending request
-- follows from its age and is not stored.
CREATE TABLE friend_request (
    id BIGINT NOT NULL PRIMARY KEY,
    requester_id BIGINT NOT NULL,
    recipient_id BIGINT NOT NULL,
    content TEXT NOT NULL,
    status INTEGER NOT NULL,
    reason TEXT,
    creation_date BIGINT NOT NULL,
    response_date BIGINT
);

CREATE INDEX friend_request_requester_id_idx ON friend_request (requester_id, recipient_id);
CREATE INDEX friend_request_recipient_id_idx ON friend_request (recipient_id);
CREATE INDEX friend_request_status_idx ON friend_request (status, creation_date);
CREATE INDEX friend_request_creation_date_idx ON friend_request (creation_date);
CREATE INDEX friend_request_response_date_idx ON friend_request (response_date) WHERE response_date IS NOT NULL;

-- When each list that the devices of a user cache was last changed, with one column for each list.
-- Dates increase with every change, if necessary beyond the current time.
CREATE TABLE user_version (
    user_id BIGINT NOT NULL PRIMARY KEY,
    relationships BIGINT,
    relationship_groups BIGINT,
    relationship_group_members BIGINT,
    sent_friend_requests BIGINT,
    received_friend_requests BIGINT,
    joined_groups BIGINT,
    sent_group_invitations BIGINT,
    received_group_invitations BIGINT,
    sent_group_join_requests BIGINT
);

-- +goose Down
DROP TABLE user_version;
DROP TABLE friend_request;
DROP TABLE relationship_group_member;
DROP TABLE relationship_group;
DROP TABLE relationship;
DROP TABLE user_role;
DROP TABLE user_account;
