// SPDX-License-Identifier: Apache-2.0

// Package fake fills an empty database with generated users, groups and messages, for
// demonstrations and tests. It writes in bulk what the rules of the domain would have written for
// the same users; it does not touch a database that is not empty.
//
// The data is a function of the plan. It is written in small steps, and the progress is stored in
// the database: an interrupted fill is resumed, and of two nodes that fill concurrently one gives
// up.
package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

// Password is the password of all generated users.
const Password = "123"

// Errors of Fill.
var (
	// ErrNotEmpty means that the database is not empty and was not changed.
	ErrNotEmpty = errors.New("the database is not empty")
	// ErrBusy means that another process fills the database.
	ErrBusy = errors.New("another process fills the database")
)

// Plan defines the data to generate.
type Plan struct {
	Users    int   `json:"users"`
	Groups   int   `json:"groups"`
	Messages int   `json:"messages"`
	Seed     int64 `json:"seed"`
	// Date is the latest date in the data.
	Date time.Time `json:"date"`
}

// NewPlan returns the plan of a configuration.
func NewPlan(c config.Fake, date time.Time) Plan {
	return Plan{Users: int(c.UserCount), Groups: int(c.GroupCount), Messages: int(c.MessageCount), Seed: c.Seed, Date: date}
}

// Options are what Fill needs.
type Options struct {
	Store *store.DB
	// UserHasher and AdminHasher hash the passwords, each only once.
	UserHasher, AdminHasher password.Hasher
	// Settings are the rules that the data obeys.
	Settings config.Service
	// Progress is called with the number of written records and the total. It may be nil.
	Progress func(done, total int)
}

// Result says what Fill did.
type Result struct {
	// Plan is the plan of the data. It differs from the requested one if an interrupted fill was
	// resumed.
	Plan Plan
	// Resumed is true if an interrupted fill was resumed.
	Resumed bool
}

// valueName is the name of the cluster value with the state of a fill.
const valueName = "fake"

// state is the progress of a fill.
type state struct {
	Plan
	// Next is the next step. Steps is the total number, which detects programs with different
	// steps.
	Next  int `json:"next"`
	Steps int `json:"steps"`
}

func (s state) done() bool { return s.Next >= s.Steps }

// Fill generates data in an empty database, or resumes an interrupted fill.
func Fill(ctx context.Context, o Options, plan Plan) (Result, error) {
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	raw, s, err := begun(ctx, o.Store)
	if err != nil {
		return Result{}, err
	}
	resumed := raw != nil && !s.done()
	if !resumed {
		if err := requireEmpty(ctx, o.Store); err != nil {
			return Result{}, err
		}
		plan.Date = plan.Date.UTC().Truncate(time.Millisecond)
		s = state{Plan: plan}
	}
	w, err := newWorld(o, s.Plan)
	if err != nil {
		return Result{}, err
	}
	steps := w.steps()
	if resumed && s.Steps != len(steps) {
		return Result{}, errors.New("the fill that was interrupted was begun by another version of the program; clear the database first")
	}
	s.Steps = len(steps)
	if err := w.run(ctx, steps, raw, s); err != nil {
		return Result{}, err
	}
	return Result{Plan: s.Plan, Resumed: resumed}, nil
}

// Clear deletes all users, groups and messages, made up or not. Administrators
// and settings stay.
func Clear(ctx context.Context, db *store.DB) error {
	if err := store.ClearDomain(ctx, db); err != nil {
		return err
	}
	raw, s, err := begun(ctx, db)
	if err != nil || raw == nil || s.done() {
		return err
	}
	s.Next = s.Steps
	return db.Write(ctx, func(ctx context.Context, tx store.Tx) error { return swap(ctx, tx, raw, encode(s)) })
}

// begun returns the stored state, raw and decoded; raw is nil if there is none.
func begun(ctx context.Context, db *store.DB) (raw []byte, s state, err error) {
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		raw, err = store.FindValue(ctx, r, valueName)
		return err
	})
	if err == nil && raw != nil {
		if err = json.Unmarshal(raw, &s); err != nil {
			err = fmt.Errorf("read how far the fill is: %w", err)
		}
	}
	return raw, s, err
}

func encode(s state) []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // Numbers and a date always have a JSON form.
	}
	return raw
}

func swap(ctx context.Context, tx store.Tx, old, value []byte) error {
	err := store.SwapValue(ctx, tx, valueName, old, value)
	if errors.Is(err, store.ErrSwapped) {
		return ErrBusy
	}
	return err
}

func requireEmpty(ctx context.Context, db *store.DB) error {
	return db.Read(ctx, emptiness)
}

func emptiness(ctx context.Context, r store.Reader) error {
	table, err := store.FindDomainTableInUse(ctx, r)
	if err == nil && table != "" {
		err = fmt.Errorf("%w: table %q has rows", ErrNotEmpty, table)
	}
	return err
}

// step is a part of the work that one transaction does.
type step struct {
	// records is how many of the counted records it writes.
	records int
	do      func(ctx context.Context, tx store.Tx) error
}

// run executes the remaining steps.
func (w *world) run(ctx context.Context, steps []step, raw []byte, s state) error {
	total, done := 0, 0
	for i, step := range steps {
		total += step.records
		if i < s.Next {
			done += step.records
		}
	}
	for s.Next < len(steps) {
		next := steps[s.Next]
		s.Next++
		value := encode(s)
		err := w.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			if err := swap(ctx, tx, raw, value); err != nil {
				return err
			}
			return next.do(ctx, tx)
		})
		if err != nil {
			return fmt.Errorf("fill the database, step %d of %d: %w", s.Next, len(steps), err)
		}
		raw = value
		done += next.records
		w.Progress(done, total)
	}
	return nil
}

// world is what the steps share.
type world struct {
	Options
	Plan
	userHash, guestHash []byte
}

func newWorld(o Options, plan Plan) (*world, error) {
	if plan.Users <= 0 {
		plan.Users, plan.Groups = 0, 0
	}
	if m := o.Settings.Message; plan.Users < 2 || !m.PersistMessage || m.MaxTextLimit == 0 {
		plan.Messages = 0
	}
	w := &world{Options: o, Plan: plan}
	var err error
	if w.userHash, err = o.UserHasher.Hash(Password); err != nil {
		return nil, err
	}
	w.guestHash, err = o.AdminHasher.Hash(GuestPassword)
	return w, err
}

// steps returns all steps in their order.
func (w *world) steps() []step {
	steps := []step{{1, w.beginning}}
	add := func(first, last, size int, do func(ctx context.Context, tx store.Tx, first, last int64) error) {
		for from := first; from <= last; from += size {
			to := min(from+size-1, last)
			steps = append(steps, step{to - from + 1, func(ctx context.Context, tx store.Tx) error { return do(ctx, tx, int64(from), int64(to)) }})
		}
	}
	tenth := int(w.tenth())
	part := func(n int) (first, last int) { return min(n*tenth, w.Users) + 1, min((n+1)*tenth, w.Users) }
	add(1, w.Users, userBlock, w.users)
	first, last := part(1)
	add(first, last, requestBlock, w.friendRequests)
	if w.Groups > 0 {
		steps = append(steps, step{1, w.firstGroup})
		add(2, min(tenth, w.Users), requestBlock, w.firstGroupMembers)
		for n, do := range []func(ctx context.Context, tx store.Tx, first, last int64) error{w.invitations, w.joinRequests, w.blockedUsers} {
			first, last := part(2 + n)
			add(first, last, requestBlock, do)
		}
		add(2, w.Groups, groupBlock, w.groups)
	}
	add(1, w.Messages, messageBlock, w.messages)
	return steps
}

// The number of records of a kind per step.
const (
	userBlock    = 250
	requestBlock = 1000
	groupBlock   = 100
	messageBlock = 1000
)

// tenth is the number of members of the first group, a tenth of the users.
func (w *world) tenth() int64 { return int64(max(1, w.Users/10)) }

// random returns the generator for one part of the data, always with the same seed for the same
// part.
func (w *world) random(part uint64, first int64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(w.Seed), part<<48|uint64(first)))
}

// The parts of the data, each with a random generator of its own.
const (
	partUsers uint64 = iota
	partRequests
	partInvitations
	partJoinRequests
	partGroups
	partOwners
	partMessages
)

// ago returns a date before that of the plan.
func (w *world) ago(d time.Duration) time.Time {
	return w.Date.Add(-d).Truncate(time.Millisecond)
}

const day = 24 * time.Hour

// lately returns a date in the last three weeks, so that requests have not expired.
func (w *world) lately(random *rand.Rand) time.Time {
	return w.ago(time.Hour + time.Duration(random.Int64N(int64(20*day))))
}

// numbers returns the numbers from first to last.
func numbers(first, last int64) []int64 {
	list := make([]int64, 0, last-first+1)
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}
