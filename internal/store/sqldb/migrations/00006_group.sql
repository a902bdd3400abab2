-- SPDX-License-Identifier: Apache-2.0

-- +goose Up
-- Enumerations are stored as the numbers that clients use. Dates are milliseconds since 1970; NULL
-- means none.
--
-- There are no foreign keys: users and types can be deleted, and the records of a group may remain
-- when it is deleted.
CREATE TABLE group_type (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    group_size_limit INTEGER NOT NULL,
    invitation_strategy INTEGER NOT NULL,
    join_strategy INTEGER NOT NULL,
    group_info_update_strategy INTEGER NOT NULL,
    member_info_update_strategy INTEGER NOT NULL,
    guest_speakable BOOLEAN NOT NULL,
    self_info_updatable BOOLEAN NOT NULL,
    enable_read_receipt BOOLEAN NOT NULL,
    message_editable BOOLEAN NOT NULL
);

-- user_defined_attributes is a JSON object.
CREATE TABLE im_group (
    id BIGINT NOT NULL PRIMARY KEY,
    type_id BIGINT NOT NULL,
    creator_id BIGINT NOT NULL,
    owner_id BIGINT NOT NULL,
    name TEXT,
    intro TEXT,
    announcement TEXT,
    minimum_score INTEGER NOT NULL,
    creation_date BIGINT NOT NULL,
    deletion_date BIGINT,
    last_updated_date BIGINT NOT NULL,
    mute_end_date BIGINT,
    is_active BOOLEAN NOT NULL,
    user_defined_attributes TEXT
);

CREATE INDEX im_group_type_id_idx ON im_group (type_id, id);
CREATE INDEX im_group_creator_id_idx ON im_group (creator_id, id);
-- For counting the groups of an owner, in total or of one type, without reading the groups.
CREATE INDEX im_group_owner_id_idx ON im_group (owner_id, type_id, deletion_date);
CREATE INDEX im_group_creation_date_idx ON im_group (creation_date);
CREATE INDEX im_group_deletion_date_idx ON im_group (deletion_date) WHERE deletion_date IS NOT NULL;
CREATE INDEX im_group_last_updated_date_idx ON im_group (last_updated_date);
CREATE INDEX im_group_mute_end_date_idx ON im_group (mute_end_date) WHERE mute_end_date IS NOT NULL;
CREATE INDEX im_group_is_active_idx ON im_group (is_active, id);

CREATE TABLE group_member (
    group_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    name TEXT,
    role INTEGER NOT NULL,
    join_date BIGINT NOT NULL,
    mute_end_date BIGINT,
    PRIMARY KEY (group_id, user_id)
);

CREATE INDEX group_member_user_id_idx ON group_member (user_id, group_id);
CREATE INDEX group_member_role_idx ON group_member (role, group_id, user_id);
CREATE INDEX group_member_join_date_idx ON group_member (join_date);
CREATE INDEX group_member_mute_end_date_idx ON group_member (mute_end_date) WHERE mute_end_date IS NOT NULL;
-- A group cannot have two owners, even if the rules have a defect.
CREATE UNIQUE INDEX group_member_group_id_key ON group_member (group_id) WHERE role = 0;

-- answers is a JSON array of strings.
CREATE TABLE group_question (
    id BIGINT NOT NULL PRIMARY KEY,
    group_id BIGINT NOT NULL,
    question TEXT NOT NULL,
    answers TEXT NOT NULL,
    score INTEGER NOT NULL
);

CREATE INDEX group_question_group_id_idx ON group_question (group_id, id);

CREATE TABLE group_blocked_user (
    group_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    block_date BIGINT NOT NULL,
    requester_id BIGINT NOT NULL,
    PRIMARY KEY (group_id, user_id)
);

CREATE INDEX group_blocked_user_user_id_idx ON group_blocked_user (user_id, group_id);
CREATE INDEX group_blocked_user_requester_id_idx ON group_blocked_user (requester_id);
CREATE INDEX group_blocked_user_block_date_idx ON group_blocked_user (block_date);

CREATE TABLE group_invitation (
    id BIGINT NOT NULL PRIMARY KEY,
    group_id BIGINT NOT NULL,
    inviter_id BIGINT NOT NULL,
    invitee_id BIGINT NOT NULL,
    content TEXT NOT NULL,
    status INTEGER NOT NULL,
    creation_date BIGINT NOT NULL,
    response_date BIGINT,
    reason TEXT
);

CREATE INDEX group_invitation_group_id_idx ON group_invitation (group_id, id);
CREATE INDEX group_invitation_inviter_id_idx ON group_invitation (inviter_id, id);
CREATE INDEX group_invitation_invitee_id_idx ON group_invitation (invitee_id, id);
CREATE INDEX group_invitation_status_idx ON group_invitation (status, creation_date);
CREATE INDEX group_invitation_creation_date_idx ON group_invitation (creation_date);
CREATE INDEX group_invitation_response_date_idx ON group_invitation (response_date) WHERE response_date IS NOT NULL;

CREATE TABLE group_join_request (
    id BIGINT NOT NULL PRIMARY KEY,
    group_id BIGINT NOT NULL,
    requester_id BIGINT NOT NULL,
    responder_id BIGINT,
    content TEXT NOT NULL,
    status INTEGER NOT NULL,
    creation_date BIGINT NOT NULL,
    response_date BIGINT,
    reason TEXT
);

CREATE INDEX group_join_request_group_id_idx ON group_join_request (group_id, id);
CREATE INDEX group_join_request_requester_id_idx ON group_join_request (requester_id, id);
CREATE INDEX group_join_request_responder_id_idx ON group_join_request (responder_id, id);
CREATE INDEX group_join_request_status_idx ON group_join_request (status, creation_date);
CREATE INDEX group_join_request_creation_date_idx ON group_join_request (creation_date);
CREATE INDEX group_join_request_response_date_idx ON group_join_request (response_date) WHERE response_date IS NOT NULL;

-- When each part of a group was last changed, so that clients do not fetch what they have, and the
-- number of its members, which each addition must read, and which changes in the same row.
CREATE TABLE group_version (
    group_id BIGINT NOT NULL PRIMARY KEY,
    info BIGINT NOT NULL,
    members BIGINT NOT NULL,
    blocklist BIGINT NOT NULL,
    join_requests BIGINT NOT NULL,
    questions BIGINT NOT NULL,
    invitations BIGINT NOT NULL,
    member_count INTEGER NOT NULL
);

-- +goose Down
DROP TABLE group_version;
DROP TABLE group_join_request;
DROP TABLE group_invitation;
DROP TABLE group_blocked_user;
DROP TABLE group_question;
DROP TABLE group_member;
DROP TABLE im_group;
DROP TABLE group_type;
