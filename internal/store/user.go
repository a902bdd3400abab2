// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A ProfileAccessStrategy says who may see the profile of a user. Its value is the position in the
// enumeration that clients know.
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
	// UserDefinedAttributes are nil, or anything that has a JSON form. Numbers are json.Number when
	// read.
	UserDefinedAttributes map[string]any
}

// A UserFilter selects users. Empty fields do not restrict; all others must match.
type UserFilter struct {
	IDs []int64
	// NamePrefix is how the name begins; upper and lower case are alike as far as spellings says.
	NamePrefix   string
	Registration DateRange
	Deletion     DateRange
	IsActive     *bool
}

// A UserChange describes a change. Nil fields stay unchanged.
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

var users = newTable(userTable, "id password name intro profile_picture profile_access_strategy role_id registration_date deletion_date "+
	"last_updated_date is_active user_defined_attributes", func(u *User) []any {
	return []any{
		&u.ID, (*blob)(&u.Password), &u.Name, &u.Intro, &u.ProfilePicture, &u.ProfileAccessStrategy, &u.RoleID,
		(*millis)(&u.RegistrationDate),
		optionalMillis{&u.DeletionDate},
		(*millis)(&u.LastUpdatedDate), &u.IsActive,
		(*attributes)(&u.UserDefinedAttributes),
	}
})

// InsertUsers stores new users. It returns ErrDuplicateKey if an id exists.
func InsertUsers(ctx context.Context, tx Tx, list ...User) error {
	if err := users.insert(ctx, tx, list...); err != nil {
		return fmt.Errorf("insert users: %w", err)
	}
	noteEvents(tx, UserCreated, list, func(e *Event, u *User) { e.UserID = new(u.ID) })
	return nil
}

func (f UserFilter) conditions(engine Engine) conditions {
	var list conditions
	anyOf(&list, "t.id", f.IDs)
	if f.NamePrefix != "" {
		list.and(nameBeginsWith(engine, f.NamePrefix))
	}
	list.and(f.Registration.conditions("t.registration_date")...)
	list.and(f.Deletion.conditions("t.deletion_date")...)
	if f.IsActive != nil {
		list.when("t.is_active = ?", *f.IsActive)
	}
	return list
}

func (f UserFilter) order(engine Engine) []string {
	unique := []string{"t.id"}
	if f.NamePrefix != "" {
		unique = []string{nameColumn(engine), "t.id"}
	}
	return orderBy(unique, datedColumn{"t.registration_date", f.Registration}, datedColumn{"t.deletion_date", f.Deletion})
}

// FindUsers returns the users that match the filter, ordered by the date or else the name that the
// filter asks for, if any, and id.
func FindUsers(ctx context.Context, r Reader, filter UserFilter, page Page) ([]User, error) {
	found, err := users.find(ctx, r, filter.conditions(sqldb.EngineOf(r)), page, filter.order(sqldb.EngineOf(r))...)
	if err != nil {
		return nil, fmt.Errorf("find users: %w", err)
	}
	return found, nil
}

// Credentials are what decides whether a user may log in with a password.
type Credentials struct {
	UserID   int64
	Password []byte
	// Active is true if the user is active and not deleted.
	Active bool
}

// FindCredentials returns those of the users with the given ids that exist, in no order.
func FindCredentials(ctx context.Context, r Reader, ids []int64) ([]Credentials, error) {
	found := make([]Credentials, 0, len(ids))
	err := sqldb.Query(ctx, r, sqldb.New("SELECT t.id, t.password, t.is_active AND t.deletion_date IS NULL FROM "+userTable+" AS t WHERE ?", sqldb.In("t.id", ids)),
		func(row sqldb.Row) error {
			var c Credentials
			if err := row.Scan(&c.UserID, (*blob)(&c.Password), &c.Active); err != nil {
				return err
			}
			found = append(found, c)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("find the credentials of users: %w", err)
	}
	return found, nil
}

// CountUsers returns how many users match the filter.
func CountUsers(ctx context.Context, r Reader, filter UserFilter) (int64, error) {
	return countRows(ctx, r, userTable, filter.conditions(sqldb.EngineOf(r)))
}

// UpdateUsers changes the users with the given ids. Modified counts those that differ afterwards;
// those are updated at the given date.
func UpdateUsers(ctx context.Context, tx Tx, ids []int64, change UserChange, date time.Time) (UpdateResult, error) {
	where := in("t.id", ids)
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
		columns.setField("user_defined_attributes", (*attributes)(change.UserDefinedAttributes))
	}
	columns.touch("last_updated_date", date.UnixMilli())
	result, changed, err := columns.updateMatched(ctx, tx, userTable, "id", where)
	noteEvents(tx, UserUpdated, changed, userEvent)
	return result, err
}

// MarkUsersDeleted deletes the users with the given ids logically and returns how many got another
// deletion date.
func MarkUsersDeleted(ctx context.Context, tx Tx, ids []int64, date time.Time) (int64, error) {
	var columns columnChanges
	columns.set("deletion_date", date.UnixMilli())
	columns.touch("last_updated_date", date.UnixMilli())
	modified, err := columns.update(ctx, tx, userTable, "id", in("t.id", ids))
	noteEvents(tx, UserDeleted, modified, userEvent)
	return int64(len(modified)), err
}

// DeleteUsers deletes the accounts with the given ids and returns how many there were.
func DeleteUsers(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deletedIDs(ctx, tx, userTable, ids, UserDeleted, userEvent)
}
