// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/im/conversation"
	"example.org/app/internal/store"
)

const (
	// readTime is how long each operation is repeated on each database.
	readTime = 300 * time.Millisecond
	// maxReads limits the repetitions; the first warmUp do not count.
	maxReads, warmUp = 500, 3
	pageSize         = 10
)

// A readOperation is a query of an administrator.
type readOperation struct {
	name string
	run  func(ctx context.Context, w *world) error
}

// reads measures each operation on each database.
func reads(ctx context.Context, worlds []*world) error {
	head := []string{"operation"}
	for _, w := range worlds {
		head = append(head, fmt.Sprintf("%d users, %d messages", w.users, w.messages))
	}
	head = append(head, "ratio")
	var rows [][]string
	worst := 0.0
	for _, operation := range readOperations(worlds[0].users) {
		times, err := measure(ctx, worlds, operation)
		if err != nil {
			return fmt.Errorf("%s: %w", operation.name, err)
		}
		row := []string{operation.name}
		for _, took := range times {
			row = append(row, micros(took))
		}
		ratio := float64(times[len(times)-1]) / float64(times[0])
		worst = max(worst, ratio)
		rows = append(rows, append(row, fmt.Sprintf("%.2f", ratio)))
	}
	table("Median time of the operations behind the admin interface, SQLite; goal: the ratio of the largest to the smallest is at most 2", head, rows)
	fmt.Printf("\ngreatest ratio: %.2f\n", worst)
	return nil
}

// measure returns the median time of an operation on each database. It alternates between the
// databases, so that other load on the machine affects all of them.
func measure(ctx context.Context, worlds []*world, operation readOperation) ([]time.Duration, error) {
	times := make([][]time.Duration, len(worlds))
	end := time.Now().Add(time.Duration(len(worlds)) * readTime)
	for round := 0; round < maxReads && (round < warmUp+10 || time.Now().Before(end)); round++ {
		for i, w := range worlds {
			start := time.Now()
			if err := operation.run(ctx, w); err != nil {
				return nil, fmt.Errorf("%d users: %w", w.users, err)
			}
			if round >= warmUp {
				times[i] = append(times[i], time.Since(start))
			}
		}
	}
	medians := make([]time.Duration, len(worlds))
	for i := range times {
		slices.Sort(times[i])
		medians[i] = times[i][len(times[i])/2]
	}
	return medians, nil
}

// want returns an error if an operation found nothing, which would be fast for the wrong reason.
func want[T any](found []T, err error) error {
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("nothing was found")
	}
	return err
}

func wantPage[T any](total int64, found []T, err error) error {
	if err == nil && total == 0 {
		err = fmt.Errorf("nothing was counted")
	}
	return want(found, err)
}

// span returns a time span in the middle of the smallest database.
func span(length time.Duration) store.DateRange {
	start := born.Add(1000 * time.Second)
	return store.DateRange{Start: &start, End: new(start.Add(length))}
}

// since returns the range after the first second.
func since() store.DateRange { return store.DateRange{Start: new(born.Add(time.Second))} }

// readOperations returns the operations. users is the size of the smallest database.
func readOperations(users int) []readOperation {
	const deepest = "deepest page of the smallest"
	deep := func(records int) int { return records - 2*pageSize }
	var list []readOperation
	add := func(name string, run func(ctx context.Context, w *world) error) {
		list = append(list, readOperation{name, run})
	}
	addUsers := func(name string, f store.UserFilter, offset int) {
		add("users: "+name, func(ctx context.Context, w *world) error {
			return wantPage(w.userRules.FindPage(ctx, f, store.Page{Limit: pageSize, Offset: offset}))
		})
	}
	add("users: list", func(ctx context.Context, w *world) error {
		return want(w.userRules.Find(ctx, store.UserFilter{}, pageSize, 0))
	})
	addUsers("page", store.UserFilter{}, 0)
	addUsers(deepest, store.UserFilter{}, deep(users))
	addUsers("page of ids", store.UserFilter{IDs: []int64{1, 5, 900}}, 0)
	addUsers("page, active", store.UserFilter{IsActive: new(true)}, 0)
	addUsers("page, registered in 5 minutes", store.UserFilter{Registration: span(5 * time.Minute)}, 0)
	addUsers("page, registered since", store.UserFilter{Registration: since()}, 0)

	addRelationships := func(name string, f store.RelationshipFilter, withGroups bool, offset int) {
		add("relationships: "+name, func(ctx context.Context, w *world) error {
			return wantPage(w.relationshipRules.FindPage(ctx, f, withGroups, store.Page{Limit: pageSize, Offset: offset}))
		})
	}
	add("relationships: list", func(ctx context.Context, w *world) error {
		return want(w.relationshipRules.Find(ctx, store.RelationshipFilter{}, false, pageSize, 0))
	})
	addRelationships("page with groups", store.RelationshipFilter{}, true, 0)
	addRelationships(deepest, store.RelationshipFilter{}, false, deep(2*users))
	addRelationships("page of an owner", store.RelationshipFilter{OwnerIDs: []int64{500}}, true, 0)
	addRelationships("page of a related user", store.RelationshipFilter{RelatedUserIDs: []int64{500}}, false, 0)
	addRelationships("page, blocked", store.RelationshipFilter{IsBlocked: new(true)}, false, 0)
	addRelationships("page, group 0", store.RelationshipFilter{GroupIndexes: []int32{0}}, false, 0)
	addRelationships("page, established since", store.RelationshipFilter{Establishment: since()}, false, 0)

	addGroups := func(name string, f store.GroupFilter, offset int) {
		add("groups: "+name, func(ctx context.Context, w *world) error {
			return wantPage(w.groupRules.FindPage(ctx, f, store.Page{Limit: pageSize, Offset: offset}))
		})
	}
	add("groups: list", func(ctx context.Context, w *world) error {
		return want(w.groupRules.Find(ctx, store.GroupFilter{}, pageSize, 0))
	})
	addGroups("page", store.GroupFilter{}, 0)
	addGroups(deepest, store.GroupFilter{}, deep(users))
	addGroups("page of an owner", store.GroupFilter{OwnerIDs: []int64{301}}, 0)
	addGroups("page of a member", store.GroupFilter{MemberIDs: []int64{301}}, 0)
	addGroups("page, created in 5 minutes", store.GroupFilter{CreationDate: span(5 * time.Minute)}, 0)
	addGroups("page, created since", store.GroupFilter{CreationDate: since()}, 0)

	addMembers := func(name string, f store.GroupMemberFilter, offset int) {
		add("members: "+name, func(ctx context.Context, w *world) error {
			return wantPage(w.groupRules.Members.FindPage(ctx, f, store.Page{Limit: pageSize, Offset: offset}))
		})
	}
	add("members: list", func(ctx context.Context, w *world) error {
		return want(w.groupRules.Members.Find(ctx, store.GroupMemberFilter{}, pageSize, 0))
	})
	addMembers(deepest, store.GroupMemberFilter{}, deep(users*membersPerGroup))
	addMembers("page of a group", store.GroupMemberFilter{GroupIDs: []int64{3}}, 0)
	addMembers("page of a user", store.GroupMemberFilter{UserIDs: []int64{301}}, 0)
	addMembers("page, plain members", store.GroupMemberFilter{Roles: []store.GroupMemberRole{store.GroupRegularMember}}, 0)
	addMembers("page, joined in 5 minutes", store.GroupMemberFilter{JoinDate: span(5 * time.Minute)}, 0)
	addMembers("page, joined since", store.GroupMemberFilter{JoinDate: since()}, 0)

	add("conversations: of an owner", func(ctx context.Context, w *world) error {
		private, _, err := w.conversationRules.Find(ctx, conversation.Selection{OwnerIDs: []int64{500}})
		return want(private, err)
	})
	add("conversations: by key, and of a group", func(ctx context.Context, w *world) error {
		private, groups, err := w.conversationRules.Find(ctx, conversation.Selection{
			PrivateKeys: []store.PrivateConversationKey{{OwnerID: 500, TargetID: 501}}, GroupIDs: []int64{3},
		})
		if err == nil {
			err = want(groups, nil)
		}
		return want(private, err)
	})

	addMessages := func(name string, f store.MessageFilter, order store.MessageOrder, offset int) {
		add("messages: "+name, func(ctx context.Context, w *world) error {
			return wantPage(w.messageRules.FindPage(ctx, f, order, store.Page{Limit: pageSize, Offset: offset}))
		})
	}
	add("messages: list", func(ctx context.Context, w *world) error {
		return want(w.messageRules.Find(ctx, store.MessageFilter{}, store.MessagesByID, pageSize, 0))
	})
	addMessages("page", store.MessageFilter{}, store.MessagesByID, 0)
	addMessages("page at 10,000", store.MessageFilter{}, store.MessagesByID, 10_000)
	addMessages("page, newest first", store.MessageFilter{}, store.MessagesNewestFirst, 0)
	addMessages("page of a sender", store.MessageFilter{SenderIDs: []int64{500}}, store.MessagesByID, 0)
	addMessages("page of a target, newest first", store.MessageFilter{TargetIDs: []int64{3}, IsGroupMessage: new(false)}, store.MessagesNewestFirst, 0)
	addMessages("page of group messages", store.MessageFilter{IsGroupMessage: new(true)}, store.MessagesByID, 0)
	addMessages("page, sent in 5 minutes", store.MessageFilter{DeliveryDate: span(5 * time.Minute)}, store.MessagesByID, 0)
	addMessages("page, sent since", store.MessageFilter{DeliveryDate: since()}, store.MessagesByID, 0)
	addMessages("page, sent since, newest first", store.MessageFilter{DeliveryDate: since()}, store.MessagesNewestFirst, 0)
	return list
}
