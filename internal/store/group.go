// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// A Group is a group of users. Nobody it refers to need exist.
type Group struct {
	ID, TypeID, CreatorID, OwnerID int64
	// Name, Intro and Announcement may be missing.
	Name, Intro, Announcement *string
	// MinimumScore is what answers to the questions must be worth.
	MinimumScore    int32
	CreationDate    time.Time
	DeletionDate    *time.Time
	LastUpdatedDate time.Time
	MuteEndDate     *time.Time
	IsActive        bool
	// Attributes are what the application keeps with the group; nil is none.
	Attributes map[string]any
}

// A GroupFilter selects groups. An empty field is no restriction; all fields must match.
type GroupFilter struct {
	IDs, TypeIDs, CreatorIDs, OwnerIDs []int64
	// MemberIDs selects groups that have any of these members.
	MemberIDs []int64
	IsActive  *bool
	// Deleted selects groups that have a deletion date, or that have none.
	Deleted                                                  *bool
	CreationDate, DeletionDate, LastUpdatedDate, MuteEndDate DateRange
}

// A GroupChange says what to change. A nil field stays as it is.
type GroupChange struct {
	TypeID, CreatorID, OwnerID *int64
	Name, Intro, Announcement  *string
	MinimumScore               *int32
	IsActive                   *bool
	CreationDate, DeletionDate *time.Time
	MuteEndDate                *time.Time
	Attributes                 *map[string]any
	// LastUpdatedDate is given to the groups that differ after the change.
	LastUpdatedDate *time.Time
}

type groupRow struct {
	bun.BaseModel   `bun:"table:im_group,alias:t"`
	ID              int64   `bun:"id,pk"`
	TypeID          int64   `bun:"type_id"`
	CreatorID       int64   `bun:"creator_id"`
	OwnerID         int64   `bun:"owner_id"`
	Name            *string `bun:"name"`
	Intro           *string `bun:"intro"`
	Announcement    *string `bun:"announcement"`
	MinimumScore    int32   `bun:"minimum_score"`
	CreationDate    int64   `bun:"creation_date"`
	DeletionDate    *int64  `bun:"deletion_date"`
	LastUpdatedDate int64   `bun:"last_updated_date"`
	MuteEndDate     *int64  `bun:"mute_end_date"`
	IsActive        bool    `bun:"is_active"`
	Attributes      *string `bun:"user_defined_attributes"`
}

func newGroupRow(g Group) (groupRow, error) {
	attributes, err := attributesText(g.Attributes)
	return groupRow{
		ID: g.ID, TypeID: g.TypeID, CreatorID: g.CreatorID, OwnerID: g.OwnerID,
		Name: g.Name, Intro: g.Intro, Announcement: g.Announcement, MinimumScore: g.MinimumScore,
		CreationDate: g.CreationDate.UnixMilli(), DeletionDate: millisOrNull(g.DeletionDate),
		LastUpdatedDate: g.LastUpdatedDate.UnixMilli(), MuteEndDate: millisOrNull(g.MuteEndDate),
		IsActive: g.IsActive, Attributes: attributes,
	}, err
}

func (row groupRow) group() (Group, error) {
	g := Group{
		ID: row.ID, TypeID: row.TypeID, CreatorID: row.CreatorID, OwnerID: row.OwnerID,
		Name: row.Name, Intro: row.Intro, Announcement: row.Announcement, MinimumScore: row.MinimumScore,
		CreationDate: time.UnixMilli(row.CreationDate).UTC(), DeletionDate: timeOrNil(row.DeletionDate),
		LastUpdatedDate: time.UnixMilli(row.LastUpdatedDate).UTC(), MuteEndDate: timeOrNil(row.MuteEndDate),
		IsActive: row.IsActive,
	}
	if row.Attributes == nil {
		return g, nil
	}
	decoder := json.NewDecoder(strings.NewReader(*row.Attributes))
	decoder.UseNumber()
	if err := decoder.Decode(&g.Attributes); err != nil {
		return g, fmt.Errorf("read the attributes of group %d: %w", row.ID, err)
	}
	return g, nil
}

// InsertGroups stores new groups. An id that exists is an ErrDuplicateKey.
func InsertGroups(ctx context.Context, tx Tx, groups ...Group) error {
	rows := make([]groupRow, len(groups))
	for i, g := range groups {
		var err error
		if rows[i], err = newGroupRow(g); err != nil {
			return fmt.Errorf("insert groups: %w", err)
		}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert groups: %w", err)
	}
	return nil
}

func (f GroupFilter) conditions(engine Engine) (c conditions) {
	anyOf(&c, engine, "t.id", f.IDs)
	anyOf(&c, engine, "t.type_id", f.TypeIDs)
	anyOf(&c, engine, "t.creator_id", f.CreatorIDs)
	anyOf(&c, engine, "t.owner_id", f.OwnerIDs)
	if len(f.MemberIDs) > 0 {
		c.and(bun.SafeQuery("t.id IN (SELECT m.group_id FROM group_member AS m WHERE ?)", In(engine, "m.user_id", f.MemberIDs)))
	}
	if f.IsActive != nil {
		c.and(bun.SafeQuery("t.is_active = ?", *f.IsActive))
	}
	if f.Deleted != nil {
		if *f.Deleted {
			c.and(bun.SafeQuery("t.deletion_date IS NOT NULL"))
		} else {
			c.and(bun.SafeQuery("t.deletion_date IS NULL"))
		}
	}
	c.and(f.CreationDate.conditions("t.creation_date")...)
	c.and(f.DeletionDate.conditions("t.deletion_date")...)
	c.and(f.LastUpdatedDate.conditions("t.last_updated_date")...)
	c.and(f.MuteEndDate.conditions("t.mute_end_date")...)
	return c
}

func (f GroupFilter) order() []string {
	return orderBy([]string{"t.id"}, datedColumn{"t.creation_date", f.CreationDate}, datedColumn{"t.deletion_date", f.DeletionDate},
		datedColumn{"t.last_updated_date", f.LastUpdatedDate}, datedColumn{"t.mute_end_date", f.MuteEndDate})
}

// FindGroups returns the groups that match the filter, ordered by the date that the filter asks for, if any, and id.
func FindGroups(ctx context.Context, r Reader, filter GroupFilter, page Page) ([]Group, error) {
	var rows []groupRow
	query := pageOf(whereAll(r.NewSelect().Model(&rows), filter.conditions(r.Engine())), page, filter.order()...)
	if err := query.Scan(ctx); err != nil {
		return nil, fmt.Errorf("find groups: %w", translate(err))
	}
	groups := make([]Group, len(rows))
	for i, row := range rows {
		var err error
		if groups[i], err = row.group(); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// GroupIDsAfter returns the ids of groups above a given one in ascending order, at most limit of them.
func GroupIDsAfter(ctx context.Context, r Reader, after *int64, limit int) ([]int64, error) {
	ids := []int64{}
	query := r.NewSelect().TableExpr("im_group AS t").Column("t.id").OrderExpr("t.id ASC").Limit(int64(limit))
	if after != nil {
		query = query.Where("t.id > ?", *after)
	}
	if err := query.Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("find ids of groups: %w", translate(err))
	}
	return ids, nil
}

// CountGroups returns how many groups match the filter.
func CountGroups(ctx context.Context, r Reader, filter GroupFilter) (int64, error) {
	return countRows(ctx, r, "im_group", filter.conditions(r.Engine()))
}

// UpdateGroups changes the groups with the given ids and returns the ids of those that differ afterwards.
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
		text, err := attributesText(*change.Attributes)
		if err != nil {
			return nil, fmt.Errorf("update groups: %w", err)
		}
		c.set("user_defined_attributes", text)
	}
	if change.LastUpdatedDate != nil {
		c.touch("last_updated_date", change.LastUpdatedDate.UnixMilli())
	}
	return c.update(ctx, tx, "im_group", "id", conditions{In(tx.Engine(), "t.id", ids)})
}

// DeleteGroups deletes the groups with the given ids and returns how many there were. What belongs to them stays.
func DeleteGroups(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "im_group", conditions{In(tx.Engine(), "t.id", ids)})
}
