// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
)

// chatters is how many users, the first ones, exchange the first messages.
const chatters = 10

// organiserRole is the role of every tenth user, who may create groups of the
// second type as well.
const organiserRole int64 = 1

// plain reports whether the first group does not involve a user, so that the account may be deleted
// or inactive.
func (w *world) plain(user int64) bool { return user > max(chatters, 5*w.tenth()) }

func (w *world) deleted(user int64) bool  { return w.plain(user) && user%101 == 0 }
func (w *world) inactive(user int64) bool { return w.plain(user) && user%97 == 0 }
func (w *world) fit(user int64) bool      { return !w.deleted(user) && !w.inactive(user) }

// organiser reports whether a user has the role of that name.
func organiser(user int64) bool { return user%10 == 0 }

// blocks reports whether a user has blocked another.
func (w *world) blocks(owner, other int64) bool {
	return w.plain(owner) && owner%50 == 0 && other == owner-1
}

// beginning checks that the database is empty and creates the common prerequisites.
func (w *world) beginning(ctx context.Context, tx store.Tx) error {
	if err := emptiness(ctx, tx); err != nil {
		return err
	}
	if err := w.groupTypes(ctx, tx); err != nil {
		return err
	}
	err := store.InsertUserRoles(ctx, tx, store.UserRole{
		ID: organiserRole, Name: new("organiser"), CreatableGroupTypeIDs: []int64{0, secondType}, OwnedGroupLimit: store.UnlimitedGroups,
		OwnedGroupLimitForEachGroupType: store.UnlimitedGroups, GroupTypeIDToLimit: map[int64]int32{},
	})
	if err != nil {
		return err
	}
	return w.guest(ctx, tx)
}

// users creates users and the relationships among them, and those to user 1.
func (w *world) users(ctx context.Context, tx store.Tx, first, last int64) error {
	random := w.random(partUsers, first)
	users := make([]store.User, 0, last-first+1)
	for id := first; id <= last; id++ {
		users = append(users, w.user(random, id))
	}
	if err := store.InsertUsers(ctx, tx, users...); err != nil {
		return err
	}
	if _, err := store.InsertUserVersions(ctx, tx, w.Date, numbers(first, last)...); err != nil {
		return err
	}
	if err := relationship.EnsureDefaultGroups(ctx, tx, w.Date, numbers(first, last)...); err != nil {
		return err
	}
	if first == 1 {
		if err := w.family(ctx, tx); err != nil {
			return err
		}
	}
	return w.relate(ctx, tx, w.relationships(random, first, last))
}

func (w *world) user(random *rand.Rand, id int64) store.User {
	limits := w.Settings.User.Info
	u := store.User{
		ID: id, Password: w.userHash, Name: within(pick(random, firstNames)+" "+pick(random, lastNames), limits.MaxNameLength),
		Intro: within(pick(random, intros), limits.MaxIntroLength), IsActive: !w.inactive(id),
		ProfileAccessStrategy: store.ProfileAccessStrategy(max(0, random.IntN(12)-9)),
		// Earlier users have smaller ids.
		RegistrationDate: w.ago(365*day - time.Duration(float64(300*day)*float64(id)/float64(w.Users))),
		LastUpdatedDate:  w.Date,
	}
	if random.IntN(3) == 0 {
		u.ProfilePicture = new(within(fmt.Sprintf("https://example.org/pictures/%d.png", id), limits.MaxProfilePictureLength))
	}
	if organiser(id) {
		u.RoleID = organiserRole
	}
	if w.deleted(id) {
		u.DeletionDate = new(w.ago(time.Duration(1+random.IntN(20)) * day))
	}
	return u
}

// familyGroup is a relationship group of user 1 with every fifth friend.
const familyGroup int32 = 1

func (w *world) family(ctx context.Context, tx store.Tx) error {
	err := store.InsertRelationshipGroups(ctx, tx, store.RelationshipGroup{
		RelationshipGroupKey: store.RelationshipGroupKey{OwnerID: 1, Index: familyGroup}, Name: "Family", CreationDate: w.Date,
	})
	if err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionRelationshipGroups, w.Date, 1)
}

// relationships returns the relationships among users, and those with user 1 in both directions.
func (w *world) relationships(random *rand.Rand, first, last int64) []store.Relationship {
	var list []store.Relationship
	known := map[store.RelationshipKey]bool{}
	befriend := func(a, b int64) {
		key := store.RelationshipKey{OwnerID: a, RelatedUserID: b}
		if a == b || known[key] || w.blocks(a, b) || w.blocks(b, a) {
			return
		}
		date := w.ago(time.Duration(30+random.IntN(30)) * day)
		for _, key := range []store.RelationshipKey{key, key.Reverse()} {
			known[key] = true
			list = append(list, store.Relationship{RelationshipKey: key, EstablishmentDate: date})
		}
	}
	// The friends of user 1 are the members of the first group.
	first = max(first, 2)
	for id := first; id <= last; id++ {
		if id <= w.tenth() {
			befriend(1, id)
		}
		for range 2 {
			befriend(id, first+random.Int64N(last-first+1))
		}
		if w.blocks(id, id-1) {
			date := w.ago(time.Duration(1+random.IntN(20)) * day)
			list = append(list, store.Relationship{
				RelationshipKey: store.RelationshipKey{OwnerID: id, RelatedUserID: id - 1}, EstablishmentDate: date, BlockDate: &date,
			})
		}
	}
	return list
}

// relate stores relationships in the default groups of their owners.
func (w *world) relate(ctx context.Context, tx store.Tx, list []store.Relationship) error {
	if len(list) == 0 {
		return nil
	}
	if err := store.InsertRelationships(ctx, tx, list...); err != nil {
		return err
	}
	var members []store.RelationshipGroupMember
	var owners []int64
	for _, r := range list {
		owners = append(owners, r.OwnerID)
		members = append(members, store.RelationshipGroupMember{RelationshipKey: r.RelationshipKey, Index: store.DefaultRelationshipGroup})
		if r.OwnerID == 1 && r.RelatedUserID%5 == 0 {
			members = append(members, store.RelationshipGroupMember{RelationshipKey: r.RelationshipKey, Index: familyGroup})
		}
	}
	if err := store.InsertRelationshipGroupMembers(ctx, tx, members...); err != nil {
		return err
	}
	if err := store.BumpUserVersion(ctx, tx, store.VersionRelationships, w.Date, owners...); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionRelationshipGroupMembers, w.Date, owners...)
}

// friendRequests creates friend requests to user 1.
func (w *world) friendRequests(ctx context.Context, tx store.Tx, first, last int64) error {
	random := w.random(partRequests, first)
	var requests []store.FriendRequest
	for id := first; id <= last; id++ {
		requests = append(requests, store.FriendRequest{
			ID: id - w.tenth(), RequesterID: id, RecipientID: 1, CreationDate: w.lately(random),
			Content: within("Hi, let us be friends!", w.Settings.User.FriendRequest.MaxContentLength),
		})
	}
	if err := store.InsertFriendRequests(ctx, tx, requests...); err != nil {
		return err
	}
	if err := store.BumpUserVersion(ctx, tx, store.VersionSentFriendRequests, w.Date, numbers(first, last)...); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionReceivedFriendRequests, w.Date, 1)
}
