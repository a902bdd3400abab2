// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// A ProfileAccessStrategy says who may see the profile of a user. Its value is the position in the enumeration that
// clients know.
type ProfileAccessStrategy int32

// The strategies.
const (
	ProfileForAll ProfileAccessStrategy = iota
	ProfileForAllExceptBlockedUsers
	ProfileForFriends
)

// ProfileAccessStrategyNames are the names of the strategies in their order.
var ProfileAccessStrategyNames = []string{"ALL", "ALL_EXCEPT_BLOCKED_USERS", "FRIENDS"}

func (s ProfileAccessStrategy) String() string { return enumName(ProfileAccessStrategyNames, s) }

// A User is an account. Password is an opaque hash and empty for a user without password.
type User struct {
	ID                    int64
	Password              []byte
	Name, Intro           string
	ProfilePicture        *string
	ProfileAccessStrategy ProfileAccessStrategy
	// RoleID need not be that of a role that exists.
	RoleID           int64
	RegistrationDate time.Time
	// DeletionDate is when the user was deleted logically.
	DeletionDate    *time.Time
	LastUpdatedDate time.Time
	IsActive        bool
	// UserDefinedAttributes are nil, or anything that has a JSON form. Numbers are json.Number when read.
	UserDefinedAttributes map[string]any
}

// A UserFilter selects users. An empty field is no restriction; all fields must match.
type UserFilter struct {
	IDs          []int64
	Registration DateRange
	Deletion     DateRange
	IsActive     *bool
}

// A UserChange says what to change. A nil field stays as it is.
type UserChange struct {
	Password              *[]byte
	Name, Intro           *string
	ProfilePicture        *string
	ProfileAccessStrategy *ProfileAccessStrategy
	RoleID                *int64
	RegistrationDate      *time.Time
	IsActive              *bool
	UserDefinedAttributes *map[string]any
}

const userTable = "user_account"

type userRow struct {
	bun.BaseModel         `bun:"table:user_account,alias:t"`
	ID                    int64                 `bun:"id,pk"`
	Password              []byte                `bun:"password"`
	Name                  string                `bun:"name"`
	Intro                 string                `bun:"intro"`
	ProfilePicture        *string               `bun:"profile_picture"`
	ProfileAccessStrategy ProfileAccessStrategy `bun:"profile_access_strategy"`
	RoleID                int64                 `bun:"role_id"`
	RegistrationDate      int64                 `bun:"registration_date"`
	DeletionDate          *int64                `bun:"deletion_date"`
	LastUpdatedDate       int64                 `bun:"last_updated_date"`
	IsActive              bool                  `bun:"is_active"`
	Attributes            *string               `bun:"user_defined_attributes"`
}

// InsertUsers stores new users. An id that exists is an ErrDuplicateKey.
func InsertUsers(ctx context.Context, tx Tx, users ...User) error {
	rows := make([]userRow, len(users))
	for i, u := range users {
		attributes, err := attributesText(u.UserDefinedAttributes)
		if err != nil {
			return fmt.Errorf("insert user %d: %w", u.ID, err)
		}
		rows[i] = userRow{
			ID: u.ID, Password: bytesOf(u.Password), Name: u.Name, Intro: u.Intro, ProfilePicture: u.ProfilePicture,
			ProfileAccessStrategy: u.ProfileAccessStrategy, RoleID: u.RoleID, RegistrationDate: u.RegistrationDate.UnixMilli(),
			DeletionDate: millisOrNull(u.DeletionDate), LastUpdatedDate: u.LastUpdatedDate.UnixMilli(), IsActive: u.IsActive,
			Attributes: attributes,
		}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert users: %w", err)
	}
	return nil
}

func (row userRow) user() (User, error) {
	u := User{
		ID: row.ID, Password: bytesOf(row.Password), Name: row.Name, Intro: row.Intro, ProfilePicture: row.ProfilePicture,
		ProfileAccessStrategy: row.ProfileAccessStrategy, RoleID: row.RoleID,
		RegistrationDate: time.UnixMilli(row.RegistrationDate).UTC(), DeletionDate: timeOrNil(row.DeletionDate),
		LastUpdatedDate: time.UnixMilli(row.LastUpdatedDate).UTC(), IsActive: row.IsActive,
	}
	if row.Attributes != nil {
		decoder := json.NewDecoder(bytes.NewReader([]byte(*row.Attributes)))
		decoder.UseNumber()
		if err := decoder.Decode(&u.UserDefinedAttributes); err != nil {
			return u, fmt.Errorf("read the attributes of user %d: %w", row.ID, err)
		}
	}
	return u, nil
}

func (f UserFilter) conditions(engine Engine) conditions {
	var list conditions
	anyOf(&list, engine, "t.id", f.IDs)
	list.and(f.Registration.conditions("t.registration_date")...)
	list.and(f.Deletion.conditions("t.deletion_date")...)
	if f.IsActive != nil {
		list.and(bun.SafeQuery("t.is_active = ?", *f.IsActive))
	}
	return list
}

func (f UserFilter) order() []string {
	return orderBy([]string{"t.id"}, datedColumn{"t.registration_date", f.Registration}, datedColumn{"t.deletion_date", f.Deletion})
}

// FindUsers returns the users that match the filter, ordered by the date that the filter asks for, if any, and id.
func FindUsers(ctx context.Context, r Reader, filter UserFilter, page Page) ([]User, error) {
	var rows []userRow
	query := whereAll(r.NewSelect().Model(&rows), filter.conditions(r.Engine()))
	if err := pageOf(query, page, filter.order()...).Scan(ctx); err != nil {
		return nil, fmt.Errorf("find users: %w", translate(err))
	}
	users := make([]User, len(rows))
	for i, row := range rows {
		var err error
		if users[i], err = row.user(); err != nil {
			return nil, err
		}
	}
	return users, nil
}

// CountUsers returns how many users match the filter.
func CountUsers(ctx context.Context, r Reader, filter UserFilter) (int64, error) {
	return countRows(ctx, r, userTable, filter.conditions(r.Engine()))
}

// FindActiveUserIDs returns those of the ids whose users exist, are active and are not deleted, in ascending order.
func FindActiveUserIDs(ctx context.Context, r Reader, ids []int64) ([]int64, error) {
	found := []int64{}
	err := r.NewSelect().TableExpr("user_account AS t").Column("t.id").Where("?", In(r.Engine(), "t.id", ids)).
		Where("t.is_active").Where("t.deletion_date IS NULL").Order("t.id").Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("find active users: %w", translate(err))
	}
	return found, nil
}

// UpdateUsers changes the users with the given ids. Modified counts those that differ afterwards; those are updated at
// the given date.
func UpdateUsers(ctx context.Context, tx Tx, ids []int64, change UserChange, date time.Time) (UpdateResult, error) {
	where := conditions{In(tx.Engine(), "t.id", ids)}
	matched, err := countRows(ctx, tx, userTable, where)
	if err != nil || matched == 0 {
		return UpdateResult{}, err
	}
	var columns columnChanges
	if change.Password != nil {
		columns.set("password", bytesOf(*change.Password))
	}
	setIf(&columns, "name", change.Name)
	setIf(&columns, "intro", change.Intro)
	setIf(&columns, "profile_picture", change.ProfilePicture)
	setIf(&columns, "profile_access_strategy", change.ProfileAccessStrategy)
	setIf(&columns, "role_id", change.RoleID)
	if change.RegistrationDate != nil {
		columns.set("registration_date", change.RegistrationDate.UnixMilli())
	}
	setIf(&columns, "is_active", change.IsActive)
	if change.UserDefinedAttributes != nil {
		attributes, err := attributesText(*change.UserDefinedAttributes)
		if err != nil {
			return UpdateResult{}, fmt.Errorf("update users: %w", err)
		}
		columns.set("user_defined_attributes", attributes)
	}
	columns.touch("last_updated_date", date.UnixMilli())
	modified, err := columns.update(ctx, tx, userTable, "id", where)
	if err != nil {
		return UpdateResult{}, err
	}
	return UpdateResult{Matched: matched, Modified: int64(len(modified))}, nil
}

// MarkUsersDeleted deletes the users with the given ids logically and returns how many got another deletion date.
func MarkUsersDeleted(ctx context.Context, tx Tx, ids []int64, date time.Time) (int64, error) {
	var columns columnChanges
	columns.set("deletion_date", date.UnixMilli())
	columns.touch("last_updated_date", date.UnixMilli())
	modified, err := columns.update(ctx, tx, userTable, "id", conditions{In(tx.Engine(), "t.id", ids)})
	return int64(len(modified)), err
}

// DeleteUsers deletes the accounts with the given ids and returns how many there were.
func DeleteUsers(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, userTable, conditions{In(tx.Engine(), "t.id", ids)})
}
