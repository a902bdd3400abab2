// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A Group is a group of users. The ids that it refers to need not exist.
type Group struct {
	ID, TypeID, CreatorID, OwnerID int64
	// Name, Intro and Announcement are nil if missing.
	Name, Intro, Announcement *string
	// MinimumScore is the score required of the answers to the questions.
	MinimumScore    int32
	CreationDate    time.Time
	DeletionDate    *time.Time
	LastUpdatedDate time.Time
	MuteEndDate     *time.Time
	IsActive        bool
	// Attributes are user-defined attributes; nil means none.
	Attributes map[string]any
}

// A GroupFilter selects groups. Empty fields do not restrict; all others must match.
type GroupFilter struct {
	IDs, TypeIDs, CreatorIDs, OwnerIDs []int64
	// NamePrefix is the prefix of the name, compared like that of users.
	NamePrefix string
	// MemberIDs selects groups that have any of these members.
	MemberIDs []int64
	IsActive  *bool
	// Deleted selects groups that have a deletion date, or that have none.
	Deleted                                                  *bool
	CreationDate, DeletionDate, LastUpdatedDate, MuteEndDate DateRange
}

// A GroupChange describes a change. Nil fields stay unchanged.
type GroupChange struct {
	TypeID, CreatorID, OwnerID *int64
	Name, Intro, Announcement  *string
	MinimumScore               *int32
	IsActive                   *bool
	CreationDate, DeletionDate *time.Time
	MuteEndDate                *time.Time
	Attributes                 *map[string]any
	// LastUpdatedDate is set in the groups that change.
	LastUpdatedDate *time.Time
}

var groups = newTable("im_group", "id type_id creator_id owner_id name intro announcement minimum_score creation_date deletion_date "+
	"last_updated_date mute_end_date is_active user_defined_attributes", func(g *Group) []any {
	return []any{
		&g.ID, &g.TypeID, &g.CreatorID, &g.OwnerID, &g.Name, &g.Intro, &g.Announcement, &g.MinimumScore, (*millis)(&g.CreationDate),
		optionalMillis{&g.DeletionDate},
		(*millis)(&g.LastUpdatedDate),
		optionalMillis{&g.MuteEndDate},
		&g.IsActive, (*attributes)(&g.Attributes),
	}
})

// InsertGroups stores new groups. It returns ErrDuplicateKey if an id exists.
func InsertGroups(ctx context.Context, tx Tx, list ...Group) error {
	if err := groups.insert(ctx, tx, list...); err != nil {
		return fmt.Errorf("insert groups: %w", err)
	}
	noteEvents(tx, GroupCreated, list, func(e *Event, g *Group) { e.GroupID = new(g.ID) })
	return nil
}

func (f GroupFilter) conditions(engine Engine) (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	if f.NamePrefix != "" {
		c.and(nameBeginsWith(engine, f.NamePrefix))
	}
	anyOf(&c, "t.type_id", f.TypeIDs)
	anyOf(&c, "t.creator_id", f.CreatorIDs)
	anyOf(&c, "t.owner_id", f.OwnerIDs)
	if len(f.MemberIDs) > 0 {
		c.when("t.id IN (SELECT m.group_id FROM group_member AS m WHERE ?)", sqldb.In("m.user_id", f.MemberIDs))
	}
	if f.IsActive != nil {
		c.when("t.is_active = ?", *f.IsActive)
	}
	if f.Deleted != nil {
		if *f.Deleted {
			c.when("t.deletion_date IS NOT NULL")
		} else {
			c.when("t.deletion_date IS NULL")
		}
	}
	c.and(f.CreationDate.conditions("t.creation_date")...)
	c.and(f.DeletionDate.conditions("t.deletion_date")...)
	c.and(f.LastUpdatedDate.conditions("t.last_updated_date")...)
	c.and(f.MuteEndDate.conditions("t.mute_end_date")...)
	return c
}

func (f GroupFilter) order(engine Engine) []string {
	unique := []string{"t.id"}
	if f.NamePrefix != "" {
		unique = []string{nameColumn(engine), "t.id"}
	}
	return orderBy(unique, datedColumn{"t.creation_date", f.CreationDate}, datedColumn{"t.deletion_date", f.DeletionDate},
		datedColumn{"t.last_updated_date", f.LastUpdatedDate}, datedColumn{"t.mute_end_date", f.MuteEndDate})
}

// FindGroups returns the groups that match the filter, ordered by the date or else the name that
// the filter asks for, if any, and id.
func FindGroups(ctx context.Context, r Reader, filter GroupFilter, page Page) ([]Group, error) {
	found, err := groups.find(ctx, r, filter.conditions(sqldb.EngineOf(r)), page, filter.order(sqldb.EngineOf(r))...)
	if err != nil {
		return nil, fmt.Errorf("find groups: %w", err)
	}
	return found, nil
}

// GroupIDsAfter returns the ids of groups above a given one in ascending order, at most limit of
// them.
func GroupIDsAfter(ctx context.Context, r Reader, after *int64, limit int) ([]int64, error) {
	ids, err := sqldb.List[int64](ctx, r, pageOf(sqldb.New("SELECT t.id FROM im_group AS t?", idAfter(after).clause()), Page{Limit: limit}, "t.id"))
	if err != nil {
		return nil, fmt.Errorf("find ids of groups: %w", err)
	}
	return ids, nil
}

// CountGroups returns how many groups match the filter.
func CountGroups(ctx context.Context, r Reader, filter GroupFilter) (int64, error) {
	return countRows(ctx, r, "im_group", filter.conditions(sqldb.EngineOf(r)))
}

// UpdateGroups changes the groups with the given ids and returns the ids of those that differ
// afterwards.
func UpdateGroups(ctx context.Context, tx Tx, ids []int64, change GroupChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "type_id", change.TypeID)
	setIf(&c, "creator_id", change.CreatorID)
	setIf(&c, "owner_id", change.OwnerID)
	setIf(&c, "name", change.Name)
	setIf(&c, "intro", change.Intro)
	setIf(&c, "announcement", change.Announcement)
	setIf(&c, "minimum_score", change.MinimumScore)
	setIf(&c, "is_active", change.IsActive)
	setIf(&c, "creation_date", millisOrNull(change.CreationDate))
	setIf(&c, "deletion_date", millisOrNull(change.DeletionDate))
	setIf(&c, "mute_end_date", millisOrNull(change.MuteEndDate))
	if change.Attributes != nil {
		c.setField("user_defined_attributes", (*attributes)(change.Attributes))
	}
	if change.LastUpdatedDate != nil {
		c.touch("last_updated_date", change.LastUpdatedDate.UnixMilli())
	}
	changed, err := c.update(ctx, tx, "im_group", "id", in("t.id", ids))
	kind := GroupUpdated
	if change.DeletionDate != nil {
		kind = GroupDissolved
	}
	noteEvents(tx, kind, changed, groupEvent)
	return changed, err
}

// DeleteGroups deletes the groups with the given ids and returns how many there were. Dependent
// data stays.
func DeleteGroups(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deletedIDs(ctx, tx, "im_group", ids, GroupDissolved, groupEvent)
}
