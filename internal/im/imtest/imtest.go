// SPDX-License-Identifier: Apache-2.0

// Package imtest builds the rules of the domain over a real store, for the tests of packages that
// need more than one noun of it. It is for tests only.
package imtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/im/user"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

// Noon is the initial time of a World.
var Noon = time.Date(2024, 3, 28, 12, 0, 0, 0, time.UTC)

// World is the domain as a service node builds it, with the default rules and a fixed clock. A test
// may change Rules and Now while no call is running; every directory reads them for each call.
type World struct {
	T     testing.TB
	DB    *store.DB
	IDs   *ids.Generator
	Rules config.Service
	Now   time.Time

	Users         *user.Directory
	Relationships *relationship.Directory
	Groups        *group.Directory
	Conversations *conversation.Directory
	Messages      *message.Directory
	Meetings      *meeting.Directory
}

// Changes customise a World. Each function, if not nil, changes the options of a directory before
// it is created.
type Changes struct {
	Users    func(*user.Options)
	Groups   func(*group.Options)
	Messages func(*message.Options)
	Meetings func(*meeting.Options)
}

// New builds the domain over a store. By default messages are not delivered and meetings have no
// provider.
func New(t testing.TB, db *store.DB, changes Changes) *World {
	t.Helper()
	w := &World{T: t, DB: db, Rules: config.Default().Service, Now: Noon}
	var err error
	if w.IDs, err = ids.New(1); err != nil {
		t.Fatal(err)
	}
	w.Relationships = relationship.New(relationship.Options{Store: db, IDs: w.IDs, Settings: w.userRules, Clock: w.clock})
	w.Users = user.New(changed(changes.Users, user.Options{
		Store: db, IDs: w.IDs, Settings: w.userRules, Clock: w.clock, Hasher: password.Hasher{Algorithm: password.SaltedSHA256},
		OnDelete: []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfUsers, message.DeleteOfUsers, meeting.DeleteOfUsers},
	}))
	w.Groups, err = group.New(t.Context(), changed(changes.Groups, group.Options{
		Store: db, IDs: w.IDs, Users: w.Users, Settings: func() config.Group { return w.Rules.Group }, Clock: w.clock,
		OnDelete: []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfGroups, message.DeleteOfGroups, meeting.DeleteOfGroups},
	}))
	if err != nil {
		t.Fatal(err)
	}
	w.Conversations = conversation.New(conversation.Options{
		Store: db, Settings: func() config.Conversation { return w.Rules.Conversation }, Clock: w.clock,
	})
	w.Messages = message.New(changed(changes.Messages, message.Options{
		Store: db, IDs: w.IDs, Members: w.Groups.Members, Settings: func() config.Message { return w.Rules.Message }, Clock: w.clock,
		ReadReceipts: func() config.ReadReceipt { return w.Rules.Conversation.ReadReceipt },
	}))
	w.Meetings = meeting.New(changed(changes.Meetings, meeting.Options{
		Store: db, Messages: w.Messages, Settings: func() config.Conference { return w.Rules.Conference }, Clock: w.clock,
	}))
	return w
}

// changed returns the options after a change; change may be nil.
func changed[T any](change func(*T), options T) T {
	if change != nil {
		change(&options)
	}
	return options
}

func (w *World) clock() time.Time       { return w.Now }
func (w *World) userRules() config.User { return w.Rules.User }

// People creates users.
func (w *World) People(userIDs ...int64) {
	w.T.Helper()
	for _, id := range userIDs {
		if _, err := w.Users.Create(w.T.Context(), user.Creation{ID: &id}); err != nil {
			w.T.Fatal(err)
		}
	}
}

// Relate creates a relationship of owner to other, or a block.
func (w *World) Relate(owner, other int64, blocked bool) {
	w.T.Helper()
	c := relationship.Creation{RelationshipKey: store.RelationshipKey{OwnerID: owner, RelatedUserID: other}}
	if blocked {
		c.BlockDate = &w.Now
	}
	if err := w.Relationships.Create(w.T.Context(), c); err != nil {
		w.T.Fatal(err)
	}
}

// Group creates a group with an owner and regular members and returns its id.
func (w *World) Group(owner int64, members ...int64) int64 {
	w.T.Helper()
	g, err := w.Groups.Create(w.T.Context(), group.Creation{CreatorID: owner})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, id := range members {
		m := store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: g.ID, UserID: id}, Role: store.GroupRegularMember}
		if _, err := w.Groups.Members.Add(w.T.Context(), m, nil); err != nil {
			w.T.Fatal(err)
		}
	}
	return g.ID
}

// UpdateGroup changes a group.
func (w *World) UpdateGroup(id int64, c store.GroupChange) {
	w.T.Helper()
	if r, err := w.Groups.Update(w.T.Context(), []int64{id}, c); err != nil || r.Matched != 1 {
		w.T.Fatal(r, err)
	}
}

// WantCode checks the code of an error of a rule; 0 means no error. An error without a code always
// fails the test.
func (w *World) WantCode(what string, err error, want apierr.Code) {
	w.T.Helper()
	got := apierr.Code(0)
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		got = e.Code
	} else if err != nil {
		w.T.Errorf("%s: %v", what, err)
		return
	}
	if got != want {
		w.T.Errorf("%s: %v (%v), want %v", what, got, err, want)
	}
}
