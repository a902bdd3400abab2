// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupTag = "GroupController"

// GroupMessageStatistics counts messages for the statistics of groups.
type GroupMessageStatistics interface {
	// CountAddressedGroups returns to how many groups at least one message was
	// sent in the range.
	CountAddressedGroups(ctx context.Context, sent store.DateRange) (int64, error)
}

type groupHandlers struct {
	directory *group.Directory
	limits    func() StatisticsLimits
	messages  GroupMessageStatistics
}

func groupOperations(s Service) []*admin.Operation {
	h := groupHandlers{s.Groups, s.StatisticsLimits, s.GroupMessageStatistics}
	r := resource.Resource{
		Path: "/groups", Tag: groupTag, Name: "Group", Records: "groups",
		Create: permission.GroupCreate, Query: permission.GroupQuery, Update: permission.GroupUpdate, Delete: permission.GroupDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a group",
			Description: "Creates a group. Its owner becomes the first member. The role of the creator decides which types of groups, and how many, " +
				"are allowed. Neither creator nor owner needs to exist.",
			Errors: []apierr.Code{
				apierr.NoPermissionToCreateGroupWithGroupType, apierr.CreateGroupWithNonexistentGroupType,
				apierr.NotActiveUserToCreateGroup, apierr.MaxOwnedGroupsReached,
			},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query groups", Description: "Returns groups in the order of their ids, or of the first date or else the name in the query, those that were logically deleted included.",
		}, groupFilter.filter, s.Groups.Find, s.Groups.FindPage, newGroup),
		resource.Handle(r, admin.Operation{
			ID: "queryGroupStatistics", Method: http.MethodGet, Path: "/groups/count", Permission: permission.GroupQuery, Deprecated: true,
			Summary: "Count groups",
			Description: "Counts groups in ranges of time, in all or for each unit of time. Without any range it counts the groups that exist. " +
				"Counting for units needs both bounds of a range.",
			Errors: []apierr.Code{apierr.AdminRequestsTooFrequent},
		}, h.count),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update groups",
			Description: "Changes groups. A new owner becomes a member if necessary, and the previous owner becomes a plain member.\n\n" +
				"With a successor the groups are handed over, and other fields mean nothing: the successor must be a member and be allowed by its role " +
				"to own such a group. Groups that cannot be handed over count as matched, but not as modified.",
			Errors: []apierr.Code{apierr.UpdateGroupToNonexistentGroupType, apierr.AddUserToGroupWithSizeLimitReached},
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete groups",
			Description: "Deletes groups with their members and conversations. Logically deleted groups stay with a deletion date. " +
				"Invitations, join requests, questions, blocked users and messages stay.",
		}, h.delete),
	)
}

// Group is a group as the interface returns it.
type Group struct {
	ID                    int64          `json:"id" doc:"Id." example:"1234567890123456789"`
	TypeID                int64          `json:"typeId" doc:"Id of the type; 0 is the default type." example:"0"`
	CreatorID             int64          `json:"creatorId" doc:"Id of the user who created it." example:"1"`
	OwnerID               int64          `json:"ownerId" doc:"Id of the user who owns it." example:"1"`
	Name                  *string        `json:"name,omitempty" doc:"Name." example:"Chess"`
	Intro                 *string        `json:"intro,omitempty" doc:"Introduction." example:"We play on Fridays."`
	Announcement          *string        `json:"announcement,omitempty" doc:"Announcement." example:"No game this week."`
	MinimumScore          int32          `json:"minimumScore" doc:"Points that are required to join." example:"0"`
	CreationDate          admin.Date     `json:"creationDate" doc:"When it was created."`
	DeletionDate          *admin.Date    `json:"deletionDate,omitempty" doc:"When it was logically deleted."`
	LastUpdatedDate       admin.Date     `json:"lastUpdatedDate" doc:"When it was changed last."`
	MuteEndDate           *admin.Date    `json:"muteEndDate,omitempty" doc:"Until when no member may send messages."`
	IsActive              bool           `json:"isActive" doc:"Whether it is active."`
	UserDefinedAttributes map[string]any `json:"userDefinedAttributes,omitempty" doc:"Attributes that the application stores with it."`
}

func newGroup(g store.Group) Group {
	return Group{
		ID: g.ID, TypeID: g.TypeID, CreatorID: g.CreatorID, OwnerID: g.OwnerID, Name: g.Name, Intro: g.Intro, Announcement: g.Announcement,
		MinimumScore: g.MinimumScore, CreationDate: admin.NewDate(g.CreationDate), DeletionDate: optionalDate(g.DeletionDate),
		LastUpdatedDate: admin.NewDate(g.LastUpdatedDate), MuteEndDate: optionalDate(g.MuteEndDate), IsActive: g.IsActive,
		UserDefinedAttributes: g.Attributes,
	}
}

// enumSchema describes an enumeration of names.
func enumSchema(names []string) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, name := range names {
		s.Enum = append(s.Enum, name)
	}
	return s
}

// enumOf returns the value of a name that the framework has checked.
func enumOf[E ~int32, S ~string](names []string, name S) E {
	value, _ := store.EnumOf[E](names, string(name))
	return value
}

// optionalEnum returns the value of a name that may be missing.
func optionalEnum[E ~int32, S ~string](names []string, name *S) *E {
	if name == nil {
		return nil
	}
	value := enumOf[E](names, *name)
	return &value
}

// enumsOf returns the values of names.
func enumsOf[E ~int32, S ~string](names []string, list []S) []E {
	return resource.Convert(list, func(name S) E { return enumOf[E](names, name) })
}

// groupCreation is the body of POST /groups.
type groupCreation struct {
	TypeID          *int64      `json:"typeId,omitempty" doc:"Id of the type, which must exist; absent: 0." example:"0"`
	CreatorID       int64       `json:"creatorId" doc:"Id of the user who creates it." example:"1"`
	OwnerID         *int64      `json:"ownerId,omitempty" doc:"Id of the user who owns it; absent: the creator." example:"1"`
	Name            *string     `json:"name,omitempty" doc:"Name." example:"Chess"`
	Intro           *string     `json:"intro,omitempty" doc:"Introduction." example:"We play on Fridays."`
	Announcement    *string     `json:"announcement,omitempty" doc:"Announcement." example:"No game this week."`
	MinimumScore    int32       `json:"minimumScore,omitempty" minimum:"0" doc:"Points that are required to join." example:"0"`
	CreationDate    *admin.Date `json:"creationDate,omitempty" doc:"When it was created, not in the future; absent: now."`
	DeletionDate    *admin.Date `json:"deletionDate,omitempty" doc:"When it was deleted, not in the future and not before its creation."`
	LastUpdatedDate *admin.Date `json:"lastUpdatedDate,omitempty" doc:"Accepted and ignored: the server sets it."`
	MuteEndDate     *admin.Date `json:"muteEndDate,omitempty" doc:"Until when no member may send messages."`
	IsActive        *bool       `json:"isActive,omitempty" doc:"Whether it is active; absent: the configured default." example:"true"`
}

func (h groupHandlers) create(ctx context.Context, b groupCreation) (Group, error) {
	g, err := h.directory.Create(ctx, group.Creation{
		TypeID: b.TypeID, CreatorID: b.CreatorID, OwnerID: b.OwnerID, Name: b.Name, Intro: b.Intro, Announcement: b.Announcement,
		MinimumScore: b.MinimumScore, CreationDate: givenTime(b.CreationDate), DeletionDate: givenTime(b.DeletionDate),
		MuteEndDate: givenTime(b.MuteEndDate), IsActive: b.IsActive,
	})
	return newGroup(g), err
}

type groupFilter struct {
	IDs                  []int64     `query:"ids" uniqueItems:"true" doc:"Ids of groups." example:"[1]"`
	Name                 string      `query:"name" doc:"Prefix of the name. Case is ignored for A to Z; other letters match as given, in lower case, in upper case, or with each word capitalised." example:"che"`
	TypeIDs              []int64     `query:"typeIds" uniqueItems:"true" doc:"Ids of types." example:"[0]"`
	CreatorIDs           []int64     `query:"creatorIds" uniqueItems:"true" doc:"Ids of creators." example:"[1]"`
	OwnerIDs             []int64     `query:"ownerIds" uniqueItems:"true" doc:"Ids of owners." example:"[1]"`
	MemberIDs            []int64     `query:"memberIds" uniqueItems:"true" doc:"Ids of users; a group matches that has any of them as a member." example:"[1]"`
	IsActive             *bool       `query:"isActive" doc:"Whether the groups are active."`
	CreationDateStart    *admin.Date `query:"creationDateStart" doc:"Earliest creation date."`
	CreationDateEnd      *admin.Date `query:"creationDateEnd" doc:"Creation date before which they were created."`
	DeletionDateStart    *admin.Date `query:"deletionDateStart" doc:"Earliest deletion date."`
	DeletionDateEnd      *admin.Date `query:"deletionDateEnd" doc:"Deletion date before which they were deleted."`
	LastUpdatedDateStart *admin.Date `query:"lastUpdatedDateStart" doc:"Earliest date of the last change."`
	LastUpdatedDateEnd   *admin.Date `query:"lastUpdatedDateEnd" doc:"Date before which they were changed last."`
	MuteEndDateStart     *admin.Date `query:"muteEndDateStart" doc:"Earliest end of a mute."`
	MuteEndDateEnd       *admin.Date `query:"muteEndDateEnd" doc:"Date before which a mute ends."`
}

func (f groupFilter) filter() (store.GroupFilter, error) {
	out := store.GroupFilter{
		IDs: f.IDs, NamePrefix: f.Name, TypeIDs: f.TypeIDs, CreatorIDs: f.CreatorIDs, OwnerIDs: f.OwnerIDs, MemberIDs: f.MemberIDs, IsActive: f.IsActive,
	}
	err := dateRanges(
		namedRange{"creationDate", f.CreationDateStart, f.CreationDateEnd, &out.CreationDate},
		namedRange{"deletionDate", f.DeletionDateStart, f.DeletionDateEnd, &out.DeletionDate},
		namedRange{"lastUpdatedDate", f.LastUpdatedDateStart, f.LastUpdatedDateEnd, &out.LastUpdatedDate},
		namedRange{"muteEndDate", f.MuteEndDateStart, f.MuteEndDateEnd, &out.MuteEndDate},
	)
	return out, err
}

// namedRange is a range of dates of a query and where it goes.
type namedRange struct {
	name       string
	start, end *admin.Date
	to         *store.DateRange
}

// dateRanges fills ranges.
func dateRanges(list ...namedRange) (err error) {
	for _, r := range list {
		if *r.to, err = dateRange(r.name, r.start, r.end); err != nil {
			return err
		}
	}
	return nil
}

// groupUpdate is the body of PUT /groups.
type groupUpdate struct {
	TypeID            *int64      `json:"typeId,omitempty" doc:"Id of the new type, which must exist and allow as many members." example:"0"`
	CreatorID         *int64      `json:"creatorId,omitempty" doc:"Id of the new creator." example:"1"`
	OwnerID           *int64      `json:"ownerId,omitempty" doc:"Id of the new owner." example:"1"`
	Name              *string     `json:"name,omitempty" doc:"New name." example:"Chess"`
	Intro             *string     `json:"intro,omitempty" doc:"New introduction." example:"We play on Fridays."`
	Announcement      *string     `json:"announcement,omitempty" doc:"New announcement." example:"No game this week."`
	MinimumScore      *int32      `json:"minimumScore,omitempty" minimum:"0" doc:"Points that are required to join." example:"0"`
	IsActive          *bool       `json:"isActive,omitempty" doc:"Whether it is active." example:"true"`
	CreationDate      *admin.Date `json:"creationDate,omitempty" doc:"New creation date, not in the future."`
	DeletionDate      *admin.Date `json:"deletionDate,omitempty" doc:"New deletion date, not in the future and not before the creation."`
	LastUpdatedDate   *admin.Date `json:"lastUpdatedDate,omitempty" doc:"Accepted and ignored: the server sets it."`
	MuteEndDate       *admin.Date `json:"muteEndDate,omitempty" doc:"Until when no member may send messages."`
	SuccessorID       *int64      `json:"successorId,omitempty" doc:"Id of the member to whom the ownership is transferred; other fields are ignored then." example:"2"`
	QuitAfterTransfer bool        `json:"quitAfterTransfer,omitempty" doc:"Whether the previous owner leaves the groups."`
}

func (h groupHandlers) update(ctx context.Context, ids []int64, b groupUpdate) (store.UpdateResult, error) {
	if b.SuccessorID != nil {
		return h.directory.Transfer(ctx, ids, *b.SuccessorID, b.QuitAfterTransfer)
	}
	return h.directory.Update(ctx, ids, store.GroupChange{
		TypeID: b.TypeID, CreatorID: b.CreatorID, OwnerID: b.OwnerID, Name: b.Name, Intro: b.Intro, Announcement: b.Announcement,
		MinimumScore: b.MinimumScore, IsActive: b.IsActive, CreationDate: givenTime(b.CreationDate),
		DeletionDate: givenTime(b.DeletionDate), MuteEndDate: givenTime(b.MuteEndDate),
	})
}

type groupDeletion struct {
	IDs             []int64 `query:"ids" uniqueItems:"true" selector:"all" doc:"Ids of groups; absent: all groups, if the settings allow that." example:"[1]"`
	DeleteLogically *bool   `query:"deleteLogically" doc:"Whether the groups stay with a deletion date; absent: as the settings say."`
}

func (h groupHandlers) delete(ctx context.Context, in *groupDeletion) (int64, error) {
	if len(in.IDs) == 0 {
		return h.directory.DeleteAll(ctx, in.DeleteLogically)
	}
	return h.directory.Delete(ctx, in.IDs, in.DeleteLogically)
}
