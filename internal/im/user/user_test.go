// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// fixture is a directory with rules and a clock that a test can change.
type fixture struct {
	*Directory
	t     *testing.T
	db    *store.DB
	rules config.User
	clock time.Time
}

var beginning = time.Date(2024, 3, 28, 12, 0, 0, 0, time.UTC)

func newFixture(t *testing.T, db *store.DB, change func(*Options)) *fixture {
	t.Helper()
	generator, err := ids.New(1)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, db: db, rules: config.Default().Service.User, clock: beginning}
	o := Options{
		Store: db, IDs: generator, Hasher: password.Hasher{Algorithm: password.SaltedSHA256},
		Settings: func() config.User { return f.rules }, Clock: func() time.Time { return f.clock },
	}
	if change != nil {
		change(&o)
	}
	f.Directory = New(o)
	return f
}

func onBothEngines(t *testing.T, test func(*testing.T, *store.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, storetest.SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, storetest.PostgreSQL(t)) })
}

func (f *fixture) create(c Creation) store.User {
	f.t.Helper()
	u, err := f.Create(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

func (f *fixture) read(fn func(ctx context.Context, r store.Reader) error) {
	f.t.Helper()
	if err := f.db.Read(f.t.Context(), fn); err != nil {
		f.t.Fatal(err)
	}
}

func TestPasswords(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		for _, algorithm := range []password.Algorithm{password.SaltedSHA256, password.BCrypt, password.Noop} {
			f := newFixture(t, db, func(o *Options) { o.Hasher = password.Hasher{Algorithm: algorithm, Cost: 4} })
			u := f.create(Creation{Password: new("pässword")})
			found, err := f.Find(t.Context(), store.UserFilter{IDs: []int64{u.ID}}, 0, 0)
			if err != nil || password.Verify(found[0].Password, "pässword") != nil || password.Verify(found[0].Password, "") == nil {
				t.Errorf("%s: stored %q, %v", algorithm, found[0].Password, err)
			}
		}
		f := newFixture(t, db, func(o *Options) { o.Hasher.Algorithm = "ROT13" })
		if _, err := f.Create(t.Context(), Creation{Password: new("x")}); err == nil {
			t.Error("an unknown algorithm is used")
		}
		if _, err := f.Update(t.Context(), []int64{1}, Change{Password: new("x")}); err == nil {
			t.Error("an unknown algorithm is used")
		}
	})
}

func TestGroupRole(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		f := newFixture(t, db, nil)
		role, err := f.CreateRole(t.Context(), RoleCreation{
			ID: new(int64(7)), CreatableGroupTypeIDs: []int64{2, 1, 2}, OwnedGroupLimit: 3, OwnedGroupLimitForEachGroupType: 2, GroupTypeIDToLimit: map[int64]int32{2: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, roleID := range map[int64]int64{1: 0, 2: 7, 3: 8, 4: 7, 5: 7} {
			f.create(Creation{ID: &id, RoleID: roleID, IsActive: new(id != 4)})
		}
		if _, err := f.Delete(t.Context(), []int64{5}, new(true)); err != nil {
			t.Fatal(err)
		}
		check := func(id int64, want *store.UserRole) {
			t.Helper()
			f.read(func(ctx context.Context, r store.Reader) error {
				got, ok, err := f.GroupRole(ctx, r, id)
				if ok != (want != nil) {
					t.Errorf("user %d has a role: %v", id, ok)
					return err
				}
				if !ok {
					return err
				}
				if diff := cmp.Diff(*want, got); diff != "" {
					t.Errorf("user %d (-want +got):\n%s", id, diff)
				}
				return err
			})
		}
		standard := store.DefaultUserRole()
		check(1, &standard)
		check(2, &role)
		check(3, nil)        // The role does not exist.
		check(4, nil)        // Not active.
		check(5, nil)        // Deleted.
		check(99, &standard) // No account.
		if result, err := f.UpdateRoles(t.Context(), []int64{0}, store.UserRoleChange{OwnedGroupLimit: new(int32(1))}); err != nil || result.Modified != 1 {
			t.Errorf("updated %+v, %v", result, err)
		}
		standard.OwnedGroupLimit = 1
		check(99, &standard)
		// Somebody with access to the database deletes the default role.
		err = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := store.DeleteUserRoles(ctx, tx, []int64{0})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		standard = store.DefaultUserRole()
		check(99, &standard)
	})
}

// TestDeletionIsWhole makes the last part of a physical deletion fail: it is rolled back, and
// nobody is notified.
func TestDeletionIsWhole(t *testing.T) {
	broken := errors.New("broken")
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		var failure error
		var calls []string
		f := newFixture(t, db, func(o *Options) {
			o.OnDelete = append(o.OnDelete, func(ctx context.Context, tx store.Tx, ids []int64) error {
				// A hook sees the deletion and may change its own data.
				left, err := store.FindUsers(ctx, tx, store.UserFilter{IDs: ids}, store.Page{})
				if err != nil || len(left) > 0 {
					return fmt.Errorf("left are %v: %w", left, err)
				}
				return store.BumpRevision(ctx, tx, "hook")
			}, func(context.Context, store.Tx, []int64) error { return failure })
			o.Disconnect = func(ids []int64) { calls = append(calls, fmt.Sprint("disconnect ", ids)) }
			o.Deleted = func(n int64) { calls = append(calls, fmt.Sprint("deleted ", n)) }
			o.Registered = func(n int64) { calls = append(calls, fmt.Sprint("registered ", n)) }
		})
		relationships := relationship.New(relationship.Options{Store: db, IDs: f.opts.IDs, Settings: f.opts.Settings})
		f.create(Creation{ID: new(int64(1))})
		f.create(Creation{ID: new(int64(2))})
		for _, key := range []store.RelationshipKey{{OwnerID: 1, RelatedUserID: 2}, {OwnerID: 2, RelatedUserID: 1}} {
			if err := relationships.Create(t.Context(), relationship.Creation{RelationshipKey: key}); err != nil {
				t.Fatal(err)
			}
		}
		count := func() (users, relations int64, version *time.Time) {
			f.read(func(ctx context.Context, r store.Reader) (err error) {
				users, err = store.CountUsers(ctx, r, store.UserFilter{})
				if err == nil {
					relations, err = store.CountRelationships(ctx, r, store.RelationshipFilter{})
				}
				if err == nil {
					version, err = store.FindUserVersion(ctx, r, store.VersionRelationships, 1)
				}
				return err
			})
			return users, relations, version
		}
		calls, failure = nil, broken
		if n, err := f.Delete(t.Context(), []int64{1}, new(false)); !errors.Is(err, broken) || n != 0 {
			t.Errorf("deleted %d, %v", n, err)
		}
		if users, relations, version := count(); users != 2 || relations != 2 || version == nil || len(calls) > 0 {
			t.Errorf("after a failure there are %d users, %d relationships, the version %v and the calls %v", users, relations, version, calls)
		}
		if revision, err := db.Revision(t.Context(), "hook"); err != nil || revision != 0 {
			t.Errorf("the hook's change is kept: %d, %v", revision, err)
		}
		// Hooks are for physical deletions.
		if n, err := f.Delete(t.Context(), []int64{1}, new(true)); err != nil || n != 1 {
			t.Errorf("deleted %d, %v", n, err)
		}
		failure = nil
		if n, err := f.Delete(t.Context(), []int64{1}, new(false)); err != nil || n != 1 {
			t.Errorf("deleted %d, %v", n, err)
		}
		if users, relations, version := count(); users != 1 || relations != 0 || version != nil {
			t.Errorf("there are %d users, %d relationships and the version %v", users, relations, version)
		}
		if want := []string{"disconnect [1]", "deleted 1", "disconnect [1]", "deleted 1"}; !slices.Equal(calls, want) {
			t.Errorf("calls %v, want %v", calls, want)
		}
	})
}

func TestDuplicateIsNotCounted(t *testing.T) {
	registered := int64(0)
	f := newFixture(t, storetest.SQLite(t), func(o *Options) { o.Registered = func(n int64) { registered += n } })
	f.create(Creation{ID: new(int64(1))})
	if _, err := f.Create(t.Context(), Creation{ID: new(int64(1))}); !errors.Is(err, store.ErrDuplicateKey) {
		t.Errorf("duplicate: %v", err)
	}
	if _, err := f.Create(t.Context(), Creation{ID: new(int64(0))}); apierr.From(err).Code != apierr.IllegalArgument {
		t.Errorf("id 0: %v", err)
	}
	if registered != 1 {
		t.Errorf("%d registrations", registered)
	}
}

// TestConcurrentLives concurrently creates and deletes users while they are befriended: the result
// is consistent.
func TestConcurrentLives(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		var mu sync.Mutex
		registered, deleted := int64(0), int64(0)
		count := func(counter *int64) func(int64) {
			return func(n int64) {
				mu.Lock()
				defer mu.Unlock()
				*counter += n
			}
		}
		f := newFixture(t, db, func(o *Options) { o.Registered, o.Deleted = count(&registered), count(&deleted) })
		relationships := relationship.New(relationship.Options{Store: db, IDs: f.opts.IDs, Settings: f.opts.Settings})
		var group sync.WaitGroup
		for worker := range 8 {
			group.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(worker)))
				for range 12 {
					id, other := 1+random.Int64N(3), 1+random.Int64N(3)
					var err error
					switch random.IntN(3) {
					case 0:
						if _, err = f.Create(t.Context(), Creation{ID: &id}); errors.Is(err, store.ErrDuplicateKey) {
							err = nil
						}
					case 1:
						_, err = f.Delete(t.Context(), []int64{id}, new(false))
					case 2:
						err = relationships.Create(t.Context(), relationship.Creation{RelationshipKey: store.RelationshipKey{OwnerID: id, RelatedUserID: other}})
						if code := apierr.From(err).Code; err != nil && (code == apierr.CreateExistingRelationship || id == other) {
							err = nil
						}
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		f.read(func(ctx context.Context, r store.Reader) error {
			users, err := store.CountUsers(ctx, r, store.UserFilter{})
			if err == nil && users != registered-deleted {
				t.Errorf("%d registrations and %d deletions leave %d users", registered, deleted, users)
			}
			return err
		})
		if _, err := f.Delete(t.Context(), []int64{1, 2, 3}, new(false)); err != nil {
			t.Fatal(err)
		}
		f.read(func(ctx context.Context, r store.Reader) error {
			for _, table := range []string{"user_account", "relationship", "relationship_group", "relationship_group_member", "user_version"} {
				var left int
				if err := storetest.First(ctx, r, "SELECT count(*) FROM "+table, &left); err != nil || left > 0 {
					return fmt.Errorf("%d rows of %s are left: %w", left, table, err)
				}
			}
			return nil
		})
	})
}

// TestModel applies random operations to the directory and to a map and compares them after each.
func TestModel(t *testing.T) {
	run := func(t *testing.T, db *store.DB, operations int) {
		const seed = 42
		f := newFixture(t, db, nil)
		model := map[int64]store.User{}
		random := rand.New(rand.NewPCG(seed, uint64(operations)))
		some := func() []int64 {
			list := []int64{}
			for range 1 + random.IntN(3) {
				list = append(list, 1+random.Int64N(8))
			}
			return list
		}
		date := func() time.Time { return beginning.Add(-time.Duration(random.IntN(10)) * time.Hour) }
		text := func() *string { return []*string{nil, new(""), new("a"), new("b")}[random.IntN(4)] }
		for step := range operations {
			f.clock = f.clock.Add(time.Duration(random.IntN(3)) * time.Millisecond)
			now := f.clock
			var what string
			switch random.IntN(5) {
			case 0:
				id, at, active := some()[0], date(), random.IntN(2) == 0
				what = fmt.Sprintf("create %d", id)
				_, exists := model[id]
				u, err := f.Create(t.Context(), Creation{ID: &id, Name: "n", ProfilePicture: text(), RegistrationDate: &at, IsActive: &active})
				if (err != nil) != exists || exists && !errors.Is(err, store.ErrDuplicateKey) {
					t.Fatalf("seed %d, step %d: %s: %v", seed, step, what, err)
				}
				if !exists {
					u.Password = []byte{}
					model[id] = u
				}
			case 1, 2:
				ids, c := some(), Change{Name: text(), ProfilePicture: text()}
				if random.IntN(3) == 0 {
					c.IsActive = new(random.IntN(2) == 0)
				}
				if random.IntN(3) == 0 {
					c.RegistrationDate = new(date())
				}
				what = fmt.Sprintf("update %v %+v", ids, c)
				want := applyChange(model, ids, c, now)
				if got, err := f.Update(t.Context(), ids, c); err != nil || got != want {
					t.Fatalf("seed %d, step %d: %s: %+v, %v, want %+v", seed, step, what, got, err, want)
				}
			case 3, 4:
				ids, logically := some(), random.IntN(3) > 0
				what = fmt.Sprintf("delete %v %v", ids, logically)
				want := int64(0)
				for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
					u, exists := model[id]
					switch {
					case !exists || logically && u.DeletionDate != nil && u.DeletionDate.Equal(now):
						continue
					case logically:
						u.DeletionDate, u.LastUpdatedDate = &now, now
						model[id] = u
					default:
						delete(model, id)
					}
					want++
				}
				if got, err := f.Delete(t.Context(), ids, &logically); err != nil || got != want {
					t.Fatalf("seed %d, step %d: %s: %d, %v, want %d", seed, step, what, got, err, want)
				}
			}
			filter := store.UserFilter{}
			if random.IntN(2) == 0 {
				filter.IsActive = new(random.IntN(2) == 0)
			}
			if random.IntN(2) == 0 {
				filter.Registration = store.DateRange{Start: new(date())}
			}
			if random.IntN(3) == 0 {
				filter.Deletion = store.DateRange{End: new(now)}
			}
			want := []store.User{}
			for _, id := range slices.Sorted(maps.Keys(model)) {
				if matches(filter, model[id]) {
					want = append(want, model[id])
				}
			}
			if filter.Registration != (store.DateRange{}) {
				slices.SortStableFunc(want, func(a, b store.User) int { return a.RegistrationDate.Compare(b.RegistrationDate) })
			} else if filter.Deletion != (store.DateRange{}) {
				slices.SortStableFunc(want, func(a, b store.User) int { return a.DeletionDate.Compare(*b.DeletionDate) })
			}
			total, got, err := f.FindPage(t.Context(), filter, store.Page{Limit: 100})
			if got == nil {
				got = []store.User{}
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" || total != int64(len(want)) {
				t.Fatalf("seed %d, step %d: %s: %d, %v (-want +got):\n%s", seed, step, what, total, err, diff)
			}
		}
	}
	t.Run("SQLite", func(t *testing.T) { run(t, storetest.SQLite(t), 2000) })
	t.Run("PostgreSQL", func(t *testing.T) { run(t, storetest.PostgreSQL(t), 300) })
}

// applyChange applies Update to the model.
func applyChange(model map[int64]store.User, ids []int64, c Change, now time.Time) (result store.UpdateResult) {
	if c.nothing() {
		return result
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		old, exists := model[id]
		if !exists {
			continue
		}
		result.Matched++
		u := old
		if c.Name != nil {
			u.Name = *c.Name
		}
		if c.ProfilePicture != nil {
			u.ProfilePicture = c.ProfilePicture
		}
		if c.IsActive != nil {
			u.IsActive = *c.IsActive
		}
		if c.RegistrationDate != nil {
			u.RegistrationDate = *c.RegistrationDate
		}
		if !cmp.Equal(old, u) {
			u.LastUpdatedDate = now
			result.Modified++
			model[id] = u
		}
	}
	return result
}

func matches(f store.UserFilter, u store.User) bool {
	in := func(r store.DateRange, date *time.Time) bool {
		if r.Start == nil && r.End == nil {
			return true
		}
		return date != nil && (r.Start == nil || !date.Before(*r.Start)) && (r.End == nil || date.Before(*r.End))
	}
	return (f.IsActive == nil || *f.IsActive == u.IsActive) && in(f.Registration, &u.RegistrationDate) && in(f.Deletion, u.DeletionDate)
}
