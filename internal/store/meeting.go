// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// A Meeting brings two users, or a user and a group, together.
type Meeting struct {
	ID, CreatorID int64
	// UserID or GroupID is whom the creator meets; the other one is nil.
	UserID, GroupID       *int64
	Name, Intro, Password *string
	// AccessToken lets the creator in.
	AccessToken             *string
	CreationDate, StartDate time.Time
	EndDate, CancelDate     *time.Time
}

// A MeetingFilter selects meetings. An empty field is no restriction; all fields must match.
type MeetingFilter struct {
	IDs, CreatorIDs, UserIDs, GroupIDs []int64
	CreationDate                       DateRange
	// For selects what somebody may see; nil is no restriction.
	For *MeetingViewer
}

// A MeetingViewer may see the meetings that a user created or is invited to, and those of some groups.
type MeetingViewer struct {
	UserID   int64
	GroupIDs []int64
}

// A MeetingChange says what to change. A nil field stays as it is.
type MeetingChange struct {
	Name, Intro *string
	// Password is given, or removed if it points to nil.
	Password            **string
	EndDate, CancelDate *time.Time
}

type meetingRow struct {
	bun.BaseModel `bun:"table:meeting,alias:t"`
	ID            int64   `bun:"id,pk"`
	CreatorID     int64   `bun:"creator_id"`
	UserID        *int64  `bun:"user_id"`
	GroupID       *int64  `bun:"group_id"`
	Name          *string `bun:"name"`
	Intro         *string `bun:"intro"`
	Password      *string `bun:"password"`
	AccessToken   *string `bun:"access_token"`
	CreationDate  int64   `bun:"creation_date"`
	StartDate     int64   `bun:"start_date"`
	EndDate       *int64  `bun:"end_date"`
	CancelDate    *int64  `bun:"cancel_date"`
	Pending       bool    `bun:"pending"`
}

// InsertPendingMeeting stores a meeting that is not there for anybody until ConfirmMeeting is called. An id that exists
// is an ErrDuplicateKey.
func InsertPendingMeeting(ctx context.Context, tx Tx, m Meeting) error {
	row := meetingRow{
		ID: m.ID, CreatorID: m.CreatorID, UserID: m.UserID, GroupID: m.GroupID, Name: m.Name, Intro: m.Intro, Password: m.Password,
		AccessToken: m.AccessToken, CreationDate: m.CreationDate.UnixMilli(), StartDate: m.StartDate.UnixMilli(),
		EndDate: millisOrNull(m.EndDate), CancelDate: millisOrNull(m.CancelDate), Pending: true,
	}
	if err := insertRows(ctx, tx, []meetingRow{row}); err != nil {
		return fmt.Errorf("insert meeting %d: %w", m.ID, err)
	}
	return nil
}

// ConfirmMeeting makes a pending meeting one that is there, with a token for its creator, if there is one. It reports
// false if it does not exist.
func ConfirmMeeting(ctx context.Context, tx Tx, id int64, accessToken *string) (bool, error) {
	var c columnChanges
	c.set("pending", false)
	c.touch("access_token", accessToken)
	changed, err := c.update(ctx, tx, "meeting", "id", conditions{bun.SafeQuery("t.id = ?", id)})
	return len(changed) > 0, err
}

// CountPendingMeetings returns how many meetings of a user are pending.
func CountPendingMeetings(ctx context.Context, r Reader, creatorID int64) (int64, error) {
	return countRows(ctx, r, "meeting", conditions{bun.SafeQuery("t.creator_id = ?", creatorID), bun.SafeQuery("t.pending")})
}

// DeletePendingMeetings forgets what was pending before a moment. Nobody will confirm it.
func DeletePendingMeetings(ctx context.Context, tx Tx, creatorID int64, before time.Time) error {
	_, err := deleteRows(ctx, tx, "meeting", conditions{
		bun.SafeQuery("t.creator_id = ?", creatorID), bun.SafeQuery("t.creation_date < ?", before.UnixMilli()), bun.SafeQuery("t.pending"),
	})
	return err
}

func (f MeetingFilter) conditions(engine Engine) (c conditions) {
	anyOf(&c, engine, "t.id", f.IDs)
	anyOf(&c, engine, "t.creator_id", f.CreatorIDs)
	anyOf(&c, engine, "t.user_id", f.UserIDs)
	anyOf(&c, engine, "t.group_id", f.GroupIDs)
	c.and(f.CreationDate.conditions("t.creation_date")...)
	switch v := f.For; {
	case v == nil:
	case len(v.GroupIDs) == 0: // SQLite uses no index if one of the alternatives is never true.
		c.and(bun.SafeQuery("(t.creator_id = ? OR t.user_id = ?)", v.UserID, v.UserID))
	default:
		c.and(bun.SafeQuery("(t.creator_id = ? OR t.user_id = ? OR ?)", v.UserID, v.UserID, In(engine, "t.group_id", v.GroupIDs)))
	}
	c.and(bun.SafeQuery("NOT t.pending"))
	return c
}

// FindMeetings returns the meetings that match the filter, ordered by the date of their creation and id.
func FindMeetings(ctx context.Context, r Reader, filter MeetingFilter, page Page) ([]Meeting, error) {
	var rows []meetingRow
	query := whereAll(r.NewSelect().Model(&rows), filter.conditions(r.Engine()))
	if err := pageOf(query, page, "t.creation_date", "t.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("find meetings: %w", translate(err))
	}
	meetings := make([]Meeting, len(rows))
	for i, row := range rows {
		meetings[i] = Meeting{
			ID: row.ID, CreatorID: row.CreatorID, UserID: row.UserID, GroupID: row.GroupID, Name: row.Name, Intro: row.Intro,
			Password: row.Password, AccessToken: row.AccessToken, CreationDate: time.UnixMilli(row.CreationDate).UTC(),
			StartDate: time.UnixMilli(row.StartDate).UTC(), EndDate: timeOrNil(row.EndDate), CancelDate: timeOrNil(row.CancelDate),
		}
	}
	return meetings, nil
}

// CountMeetings returns how many meetings match the filter.
func CountMeetings(ctx context.Context, r Reader, filter MeetingFilter) (int64, error) {
	return countRows(ctx, r, "meeting", filter.conditions(r.Engine()))
}

// FindMeeting returns a meeting. One that is not there is an ErrNotFound.
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
	changed, err := c.update(ctx, tx, "meeting", "id", conditions{bun.SafeQuery("t.id = ?", id), bun.SafeQuery("NOT t.pending")})
	return len(changed) > 0, err
}

// DeleteMeetings deletes meetings, pending ones included, and returns how many there were.
func DeleteMeetings(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "meeting", conditions{In(tx.Engine(), "t.id", ids)})
}

// DeleteGroupMeetings deletes the meetings of groups.
func DeleteGroupMeetings(ctx context.Context, tx Tx, groupIDs []int64) error {
	_, err := deleteRows(ctx, tx, "meeting", conditions{In(tx.Engine(), "t.group_id", groupIDs)})
	return err
}

// DeletePrivateMeetings deletes the meetings that users have with single others, whoever created them.
func DeletePrivateMeetings(ctx context.Context, tx Tx, userIDs []int64) error {
	engine := tx.Engine()
	_, err := deleteRows(ctx, tx, "meeting", conditions{
		bun.SafeQuery("(? OR ?)", In(engine, "t.creator_id", userIDs), In(engine, "t.user_id", userIDs)), bun.SafeQuery("t.group_id IS NULL"),
	})
	return err
}
