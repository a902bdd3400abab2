// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A Meeting is a meeting of two users, or of a user and a group.
type Meeting struct {
	ID, CreatorID int64
	// UserID or GroupID is the invited user or group; the other one is nil.
	UserID, GroupID       *int64
	Name, Intro, Password *string
	// AccessToken is the creator's access token.
	AccessToken             *string
	CreationDate, StartDate time.Time
	EndDate, CancelDate     *time.Time
}

// A MeetingFilter selects meetings. Empty fields do not restrict; all others must match.
type MeetingFilter struct {
	IDs, CreatorIDs, UserIDs, GroupIDs []int64
	CreationDate                       DateRange
	// For restricts the filter to what a user may see; nil does not restrict.
	For *MeetingViewer
}

// A MeetingViewer may see the meetings that a user created or is invited to, and those of some
// groups.
type MeetingViewer struct {
	UserID   int64
	GroupIDs []int64
}

// A MeetingChange describes a change. Nil fields stay unchanged.
type MeetingChange struct {
	Name, Intro *string
	// Password is the new password; a pointer to nil removes it.
	Password            **string
	EndDate, CancelDate *time.Time
}

var meetings = newTable("meeting", "id creator_id user_id group_id name intro password access_token creation_date start_date end_date cancel_date", func(m *Meeting) []any {
	return []any{
		&m.ID, &m.CreatorID, &m.UserID, &m.GroupID, &m.Name, &m.Intro, &m.Password, &m.AccessToken, (*millis)(&m.CreationDate),
		(*millis)(&m.StartDate),
		optionalMillis{&m.EndDate},
		optionalMillis{&m.CancelDate},
	}
})

// newMeetings are meetings that are pending.
var newMeetings = newTable(meetings.name, strings.Join(meetings.columns, " ")+" pending", func(m *Meeting) []any {
	return append(meetings.fields(m), new(true))
})

// InsertPendingMeeting stores a meeting that is invisible until ConfirmMeeting. It returns
// ErrDuplicateKey if the id exists.
func InsertPendingMeeting(ctx context.Context, tx Tx, m Meeting) error {
	if err := newMeetings.insert(ctx, tx, m); err != nil {
		return fmt.Errorf("insert meeting %d: %w", m.ID, err)
	}
	return nil
}

// ConfirmMeeting makes a pending meeting visible, with a token for its creator unless it is nil. It
// reports false if there is no such meeting.
func ConfirmMeeting(ctx context.Context, tx Tx, id int64, accessToken *string) (bool, error) {
	var c columnChanges
	c.set("pending", false)
	c.touch("access_token", accessToken)
	changed, err := c.update(ctx, tx, "meeting", "id", where("t.id = ?", id))
	return len(changed) > 0, err
}

// CountPendingMeetings returns how many meetings of a user are pending.
func CountPendingMeetings(ctx context.Context, r Reader, creatorID int64) (int64, error) {
	return countRows(ctx, r, "meeting", where("t.creator_id = ? AND t.pending", creatorID))
}

// DeletePendingMeetings deletes meetings that have been pending since before a time. Nobody will
// confirm them.
func DeletePendingMeetings(ctx context.Context, tx Tx, creatorID int64, before time.Time) error {
	_, err := deleteRows(ctx, tx, "meeting", where("t.creator_id = ? AND t.creation_date < ? AND t.pending", creatorID, before.UnixMilli()))
	return err
}

// An OverMeeting selects meetings that are over: ended or cancelled before a time, begun before
// another one and neither ended nor cancelled, or pending since before a third. A zero time selects
// none.
type OverMeeting struct{ Ended, Begun, Pending time.Time }

// FindOverMeetings returns the ids of at most limit meetings that are over, the oldest first.
func FindOverMeetings(ctx context.Context, r Reader, over OverMeeting, limit int) ([]int64, error) {
	ended, begun, pending := over.Ended.UnixMilli(), over.Begun.UnixMilli(), over.Pending.UnixMilli()
	// Creation precedes everything else: the index on its date excludes younger meetings.
	ids, err := sqldb.List[int64](ctx, r, sqldb.New("SELECT t.id FROM meeting AS t WHERE t.creation_date < ? AND "+
		"(t.end_date < ? OR t.cancel_date < ? OR (t.start_date < ? AND t.end_date IS NULL AND t.cancel_date IS NULL AND NOT t.pending) OR (t.creation_date < ? AND t.pending)) "+
		"ORDER BY t.creation_date, t.id LIMIT ?", max(ended, begun, pending), ended, ended, begun, pending, limit))
	if err != nil {
		return nil, fmt.Errorf("find meetings that are over: %w", err)
	}
	return ids, nil
}

func (f MeetingFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	anyOf(&c, "t.creator_id", f.CreatorIDs)
	anyOf(&c, "t.user_id", f.UserIDs)
	anyOf(&c, "t.group_id", f.GroupIDs)
	c.and(f.CreationDate.conditions("t.creation_date")...)
	switch v := f.For; {
	case v == nil:
	case len(v.GroupIDs) == 0: // SQLite uses no index if an alternative is never true.
		c.when("(t.creator_id = ? OR t.user_id = ?)", v.UserID, v.UserID)
	default:
		c.when("(t.creator_id = ? OR t.user_id = ? OR ?)", v.UserID, v.UserID, sqldb.In("t.group_id", v.GroupIDs))
	}
	c.when("NOT t.pending")
	return c
}

// FindMeetings returns the meetings that match the filter, ordered by the date of their creation
// and id.
func FindMeetings(ctx context.Context, r Reader, filter MeetingFilter, page Page) ([]Meeting, error) {
	found, err := meetings.find(ctx, r, filter.conditions(), page, "t.creation_date", "t.id")
	if err != nil {
		return nil, fmt.Errorf("find meetings: %w", err)
	}
	return found, nil
}

// CountMeetings returns how many meetings match the filter.
func CountMeetings(ctx context.Context, r Reader, filter MeetingFilter) (int64, error) {
	return countRows(ctx, r, "meeting", filter.conditions())
}

// FindMeeting returns a meeting. It returns ErrNotFound if there is none.
func FindMeeting(ctx context.Context, r Reader, id int64) (Meeting, error) {
	found, err := FindMeetings(ctx, r, MeetingFilter{IDs: []int64{id}}, Page{})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("find meeting %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return Meeting{}, err
	}
	return found[0], nil
}

// UpdateMeeting changes a meeting and reports whether it differs afterwards.
func UpdateMeeting(ctx context.Context, tx Tx, id int64, change MeetingChange) (bool, error) {
	var c columnChanges
	setIf(&c, "name", change.Name)
	setIf(&c, "intro", change.Intro)
	if change.Password != nil {
		c.set("password", *change.Password)
	}
	setIf(&c, "end_date", millisOrNull(change.EndDate))
	setIf(&c, "cancel_date", millisOrNull(change.CancelDate))
	changed, err := c.update(ctx, tx, "meeting", "id", where("t.id = ? AND NOT t.pending", id))
	return len(changed) > 0, err
}

// DeleteMeetings deletes meetings, pending ones included, and returns how many there were.
func DeleteMeetings(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "meeting", in("t.id", ids))
}

// DeleteGroupMeetings deletes the meetings of groups.
func DeleteGroupMeetings(ctx context.Context, tx Tx, groupIDs []int64) error {
	_, err := deleteRows(ctx, tx, "meeting", in("t.group_id", groupIDs))
	return err
}

// DeletePrivateMeetings deletes the meetings of users with another user, whoever created them.
func DeletePrivateMeetings(ctx context.Context, tx Tx, userIDs []int64) error {
	_, err := deleteRows(ctx, tx, "meeting", where("(? OR ?) AND t.group_id IS NULL", sqldb.In("t.creator_id", userIDs), sqldb.In("t.user_id", userIDs)))
	return err
}
