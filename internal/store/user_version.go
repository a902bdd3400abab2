// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A UserVersion names a list of which the devices of a user keep a copy. The date of its last
// change tells whether a copy is up to date.
type UserVersion string

// The lists.
const (
	VersionRelationships            UserVersion = "relationships"
	VersionRelationshipGroups       UserVersion = "relationship_groups"
	VersionRelationshipGroupMembers UserVersion = "relationship_group_members"
	VersionSentFriendRequests       UserVersion = "sent_friend_requests"
	VersionReceivedFriendRequests   UserVersion = "received_friend_requests"
	VersionJoinedGroups             UserVersion = "joined_groups"
	VersionSentGroupInvitations     UserVersion = "sent_group_invitations"
	VersionReceivedGroupInvitations UserVersion = "received_group_invitations"
	VersionSentGroupJoinRequests    UserVersion = "sent_group_join_requests"
)

// UserVersions are all lists.
var UserVersions = []UserVersion{
	VersionRelationships, VersionRelationshipGroups, VersionRelationshipGroupMembers, VersionSentFriendRequests,
	VersionReceivedFriendRequests, VersionJoinedGroups, VersionSentGroupInvitations, VersionReceivedGroupInvitations,
	VersionSentGroupJoinRequests,
}

// InsertUserVersions notes that all lists of new users are of the given date. What exists stays. It
// returns for how many users nothing existed.
func InsertUserVersions(ctx context.Context, tx Tx, date time.Time, userIDs ...int64) (int64, error) {
	if len(userIDs) == 0 {
		return 0, nil
	}
	n, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO user_version SELECT k.value, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM ? WHERE 1 = 1 ON CONFLICT (user_id) DO NOTHING",
		append(slices.Repeat([]any{date.UnixMilli()}, len(UserVersions)), sqldb.Keys(uniqueSorted(userIDs)))...))
	if err != nil {
		return 0, fmt.Errorf("insert versions of users: %w", err)
	}
	return n, nil
}

// BumpUserVersion notes in the transaction of a change that a list of the users has changed at the
// given date. The new date is greater than every earlier one of the list, by a millisecond if need
// be: no two states of a list share a date.
func BumpUserVersion(ctx context.Context, tx Tx, kind UserVersion, date time.Time, userIDs ...int64) error {
	if len(userIDs) == 0 {
		return nil
	}
	if !slices.Contains(UserVersions, kind) {
		return fmt.Errorf("bump the version %q of users: there is no such version", kind)
	}
	column := sqldb.Name(kind)
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO user_version AS v (user_id, ?) SELECT k.value, ? FROM ? WHERE 1 = 1 ON CONFLICT (user_id) DO UPDATE "+
		"SET ? = CASE WHEN v.? >= excluded.? THEN v.? + 1 ELSE excluded.? END",
		column, date.UnixMilli(), sqldb.Keys(uniqueSorted(userIDs)), column, column, column, column, column))
	if err != nil {
		return fmt.Errorf("bump the version %q of users: %w", kind, err)
	}
	return nil
}

// FindUserVersion returns when a list of the user changed last, or nil if nothing is known of it. A
// reader of the list asks for the date first: a change in between then makes the copy look too old,
// never too new.
func FindUserVersion(ctx context.Context, r Reader, kind UserVersion, userID int64) (*time.Time, error) {
	if !slices.Contains(UserVersions, kind) {
		return nil, fmt.Errorf("find the version %q of a user: there is no such version", kind)
	}
	var date *time.Time
	err := sqldb.First(ctx, r, sqldb.New("SELECT v.? FROM user_version AS v WHERE v.user_id = ?", sqldb.Name(kind), userID), optionalMillis{&date})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, fmt.Errorf("find the version %q of user %d: %w", kind, userID, err)
	}
	return date, nil
}

// DeleteUserVersions forgets the versions of the users.
func DeleteUserVersions(ctx context.Context, tx Tx, userIDs []int64) error {
	_, err := deleteRows(ctx, tx, "user_version", in("t.user_id", userIDs))
	return err
}
