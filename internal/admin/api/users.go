// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/user"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const userTag = "UserController"

// MessageStatistics counts messages for the statistics of users.
type MessageStatistics interface {
	// CountSenders returns how many users sent at least one message that is no
	// system message in the range.
	CountSenders(ctx context.Context, sent store.DateRange) (int64, error)
}

type userHandlers struct {
	users    *user.Directory
	limits   func() StatisticsLimits
	messages MessageStatistics
}

func userOperations(s Service) []*admin.Operation {
	h := userHandlers{s.Users, s.StatisticsLimits, s.MessageStatistics}
	r := resource.Resource{
		Path: "/users", Tag: userTag, Name: "User", Records: "users",
		Create: permission.UserCreate, Query: permission.UserQuery, Update: permission.UserUpdate, Delete: permission.UserDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a user",
			Description: "Creates a user together with the default relationship group. How long texts may be is set below `app.service.user.info`; " +
				"lengths are counted in UTF-16 units. Passwords are never returned.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query users", Description: "Returns users in the order of their ids, or of the first date or else the name in the query, logically deleted ones included.",
		}, userFilter.filter, s.Users.Find, s.Users.FindPage, newUser),
		resource.Handle(r, admin.Operation{
			ID: "queryUserCounts", Method: http.MethodGet, Path: "/users/count", Permission: permission.UserQuery, Deprecated: true,
			Summary: "Count users",
			Description: "Counts users by date. A number is given for each range of which a bound is given, and the number of registered users if " +
				"none is. With `divideBy` a list is given for each range of which both bounds are given: one number for each unit of time.",
			Errors: []apierr.Code{apierr.AdminRequestsTooFrequent},
		}, h.count),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update users",
			Description: "Changes users. Absent fields are not changed; a body that contains only empty texts changes nothing. " +
				"The sessions of users who are made inactive are closed.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete users",
			Description: "Deletes users and closes their sessions. Logically deleted users only get a deletion date. With other users go their " +
				"relationships in both directions, relationship groups and private conversations; groups, friend requests and messages stay.",
		}, h.delete),
	)
}

// User is a user as the interface returns it.
type User struct {
	ID                    int64          `json:"id" doc:"Id." example:"1234567890123456789"`
	Name                  string         `json:"name" doc:"Name." example:"Alice"`
	Intro                 string         `json:"intro" doc:"Introduction." example:"Hello!"`
	ProfilePicture        *string        `json:"profilePicture,omitempty" doc:"Where the profile picture is." example:"https://example.org/alice.png"`
	ProfileAccessStrategy string         `json:"profileAccessStrategy" enum:"ALL,ALL_EXCEPT_BLOCKED_USERS,FRIENDS" doc:"Who may see the profile." example:"ALL"`
	RoleID                int64          `json:"roleId" doc:"Id of the user role." example:"0"`
	RegistrationDate      admin.Date     `json:"registrationDate" doc:"When the user registered."`
	DeletionDate          *admin.Date    `json:"deletionDate,omitempty" doc:"When the user was deleted logically."`
	LastUpdatedDate       admin.Date     `json:"lastUpdatedDate" doc:"When the user was changed last."`
	IsActive              bool           `json:"isActive" doc:"Whether the user may log in." example:"true"`
	UserDefinedAttributes map[string]any `json:"userDefinedAttributes,omitempty" doc:"Attributes that clients have stored with the user."`
}

func newUser(u store.User) User {
	return User{
		ID: u.ID, Name: u.Name, Intro: u.Intro, ProfilePicture: u.ProfilePicture, ProfileAccessStrategy: u.ProfileAccessStrategy.String(),
		RoleID: u.RoleID, RegistrationDate: admin.NewDate(u.RegistrationDate), DeletionDate: optionalDate(u.DeletionDate),
		LastUpdatedDate: admin.NewDate(u.LastUpdatedDate), IsActive: u.IsActive, UserDefinedAttributes: u.UserDefinedAttributes,
	}
}

// optionalDate is the date of a response that may be missing.
func optionalDate(t *time.Time) *admin.Date {
	if t == nil {
		return nil
	}
	return new(admin.NewDate(*t))
}

// givenTime is the date of a request that may be missing.
func givenTime(d *admin.Date) *time.Time {
	if d == nil {
		return nil
	}
	return &d.Time
}

// givenEnum is the value of a request that may be missing.
func givenEnum[E ~int32](names []string, name *string) *E {
	if name == nil {
		return nil
	}
	value, _ := store.EnumOf[E](names, *name)
	return &value
}

// userCreation is the body of POST /users.
type userCreation struct {
	ID                    *int64      `json:"id,omitempty" doc:"Id, not 0; absent: generated." example:"1234567890123456789"`
	Password              *string     `json:"password,omitempty" secret:"true" doc:"Password; an empty one is none. It may be absent unless app.service.user.info.min-password-length is 0 or more." example:"correct-horse"`
	Name                  string      `json:"name,omitempty" doc:"Name." example:"Alice"`
	Intro                 string      `json:"intro,omitempty" doc:"Introduction." example:"Hello!"`
	ProfilePicture        *string     `json:"profilePicture,omitempty" doc:"Where the profile picture is." example:"https://example.org/alice.png"`
	ProfileAccessStrategy string      `json:"profileAccessStrategy,omitempty" enum:"ALL,ALL_EXCEPT_BLOCKED_USERS,FRIENDS" doc:"Who may see the profile; absent: ALL." example:"ALL"`
	RoleID                int64       `json:"roleId,omitempty" doc:"Id of the user role; absent: 0, the default role." example:"0"`
	RegistrationDate      *admin.Date `json:"registrationDate,omitempty" doc:"When the user registered, not in the future; absent: now."`
	IsActive              *bool       `json:"isActive,omitempty" doc:"Whether the user may log in; absent: app.service.user.activate-user-when-added." example:"true"`
}

func (h userHandlers) create(ctx context.Context, b userCreation) (User, error) {
	strategy, _ := store.EnumOf[store.ProfileAccessStrategy](store.ProfileAccessStrategyNames, b.ProfileAccessStrategy)
	u, err := h.users.Create(ctx, user.Creation{
		ID: b.ID, Password: b.Password, Name: b.Name, Intro: b.Intro, ProfilePicture: b.ProfilePicture, ProfileAccessStrategy: strategy,
		RoleID: b.RoleID, RegistrationDate: givenTime(b.RegistrationDate), IsActive: b.IsActive,
	})
	return newUser(u), err
}

type userFilter struct {
	IDs                   []int64     `query:"ids" uniqueItems:"true" doc:"Ids of users." example:"[1]"`
	Name                  string      `query:"name" doc:"Prefix of the name. Case is ignored for A to Z; other letters match as given, in lower case, in upper case, or with each word capitalised." example:"ali"`
	RegistrationDateStart *admin.Date `query:"registrationDateStart" doc:"Registered at this date or later."`
	RegistrationDateEnd   *admin.Date `query:"registrationDateEnd" doc:"Registered before this date."`
	DeletionDateStart     *admin.Date `query:"deletionDateStart" doc:"Deleted at this date or later."`
	DeletionDateEnd       *admin.Date `query:"deletionDateEnd" doc:"Deleted before this date."`
	IsActive              *bool       `query:"isActive" doc:"Whether the users may log in."`
}

func (f userFilter) filter() (filter store.UserFilter, err error) {
	filter = store.UserFilter{IDs: f.IDs, NamePrefix: f.Name, IsActive: f.IsActive}
	if filter.Registration, err = dateRange("registrationDate", f.RegistrationDateStart, f.RegistrationDateEnd); err != nil {
		return filter, err
	}
	filter.Deletion, err = dateRange("deletionDate", f.DeletionDateStart, f.DeletionDateEnd)
	return filter, err
}

// userUpdate is the body of PUT /users.
type userUpdate struct {
	Password              *string     `json:"password,omitempty" secret:"true" doc:"New password; an empty one is none." example:"correct-horse"`
	Name                  *string     `json:"name,omitempty" doc:"New name." example:"Alice"`
	Intro                 *string     `json:"intro,omitempty" doc:"New introduction." example:"Hello!"`
	ProfilePicture        *string     `json:"profilePicture,omitempty" doc:"New place of the profile picture." example:"https://example.org/alice.png"`
	ProfileAccessStrategy *string     `json:"profileAccessStrategy,omitempty" enum:"ALL,ALL_EXCEPT_BLOCKED_USERS,FRIENDS" doc:"Who may see the profile." example:"ALL"`
	RoleID                *int64      `json:"roleId,omitempty" doc:"Id of the new user role." example:"0"`
	RegistrationDate      *admin.Date `json:"registrationDate,omitempty" doc:"New registration date, not in the future."`
	IsActive              *bool       `json:"isActive,omitempty" doc:"Whether the users may log in." example:"true"`
}

func (h userHandlers) update(ctx context.Context, ids []int64, b userUpdate) (store.UpdateResult, error) {
	return h.users.Update(ctx, ids, user.Change{
		Password: b.Password, Name: b.Name, Intro: b.Intro, ProfilePicture: b.ProfilePicture,
		ProfileAccessStrategy: givenEnum[store.ProfileAccessStrategy](store.ProfileAccessStrategyNames, b.ProfileAccessStrategy),
		RoleID:                b.RoleID, RegistrationDate: givenTime(b.RegistrationDate), IsActive: b.IsActive,
	})
}

type userDeletion struct {
	IDs             []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of users." example:"[1]"`
	DeleteLogically *bool   `query:"deleteLogically" doc:"Whether the users only get a deletion date; absent: app.service.user.delete-user-logically."`
}

func (h userHandlers) delete(ctx context.Context, in *userDeletion) (int64, error) {
	return h.users.Delete(ctx, in.IDs, in.DeleteLogically)
}

// UserStatistics are numbers of users.
type UserStatistics struct {
	RegisteredUsers             *int64             `json:"registeredUsers,omitempty" doc:"Users who registered in the range, deleted ones included." example:"10"`
	DeletedUsers                *int64             `json:"deletedUsers,omitempty" doc:"Users who were deleted logically in the range." example:"1"`
	UsersWhoSentMessages        *int64             `json:"usersWhoSentMessages,omitempty" doc:"Users who sent messages in the range." example:"5"`
	RegisteredUsersRecords      []StatisticsRecord `json:"registeredUsersRecords,omitzero" doc:"Users who registered in each unit of time."`
	DeletedUsersRecords         []StatisticsRecord `json:"deletedUsersRecords,omitzero" doc:"Users who were deleted logically in each unit of time."`
	UsersWhoSentMessagesRecords []StatisticsRecord `json:"usersWhoSentMessagesRecords,omitzero" doc:"Users who sent messages in each unit of time."`
}

func (s UserStatistics) empty() bool {
	return s.RegisteredUsers == nil && s.DeletedUsers == nil && s.UsersWhoSentMessages == nil &&
		s.RegisteredUsersRecords == nil && s.DeletedUsersRecords == nil && s.UsersWhoSentMessagesRecords == nil
}

type userCountQuery struct {
	RegisteredStartDate  *admin.Date `query:"registeredStartDate" doc:"Count those who registered at this date or later."`
	RegisteredEndDate    *admin.Date `query:"registeredEndDate" doc:"Count those who registered before this date."`
	DeletedStartDate     *admin.Date `query:"deletedStartDate" doc:"Count those who were deleted at this date or later."`
	DeletedEndDate       *admin.Date `query:"deletedEndDate" doc:"Count those who were deleted before this date."`
	SentMessageStartDate *admin.Date `query:"sentMessageStartDate" doc:"Count those who sent messages at this date or later."`
	SentMessageEndDate   *admin.Date `query:"sentMessageEndDate" doc:"Count those who sent messages before this date."`
	statisticsUnit
}

func (h userHandlers) count(ctx context.Context, in *userCountQuery) (admin.Optional[UserStatistics], error) {
	var none admin.Optional[UserStatistics]
	registered, err := dateRange("registeredDate", in.RegisteredStartDate, in.RegisteredEndDate)
	if err != nil {
		return none, err
	}
	deleted, err := dateRange("deletedDate", in.DeletedStartDate, in.DeletedEndDate)
	if err != nil {
		return none, err
	}
	sent, err := dateRange("sentMessageDate", in.SentMessageStartDate, in.SentMessageEndDate)
	if err != nil {
		return none, err
	}
	limits := h.limits()
	var s UserStatistics
	s.RegisteredUsers, s.RegisteredUsersRecords, err = in.statisticsUnit.count("registeredDate", registered, limits, func(r store.DateRange) (int64, error) {
		return h.users.Count(ctx, store.UserFilter{Registration: r})
	})
	if err != nil {
		return none, err
	}
	s.DeletedUsers, s.DeletedUsersRecords, err = in.statisticsUnit.count("deletedDate", deleted, limits, func(r store.DateRange) (int64, error) {
		return h.users.Count(ctx, store.UserFilter{Deletion: r})
	})
	if err != nil {
		return none, err
	}
	if h.messages != nil {
		s.UsersWhoSentMessages, s.UsersWhoSentMessagesRecords, err = in.statisticsUnit.count("sentMessageDate", sent, limits, func(r store.DateRange) (int64, error) {
			return h.messages.CountSenders(ctx, r)
		})
		if err != nil {
			return none, err
		}
	}
	if !in.divided() && registered == (store.DateRange{}) && deleted == (store.DateRange{}) && sent == (store.DateRange{}) {
		all, err := h.users.Count(ctx, store.UserFilter{})
		if err != nil {
			return none, err
		}
		s.RegisteredUsers = &all
	}
	if s.empty() {
		return none, nil
	}
	return admin.Optional[UserStatistics]{Value: &s}, nil
}
