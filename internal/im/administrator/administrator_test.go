// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/ids"
	"example.org/app/internal/password"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func onBothEngines(t *testing.T, test func(*testing.T, *store.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, storetest.SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, storetest.PostgreSQL(t)) })
}

func newDirectory(t *testing.T, db *store.DB, cost int) *Directory {
	t.Helper()
	generator, err := ids.New(1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDirectory(t.Context(), Options{
		Store: db, IDs: generator, Logger: slog.New(slog.DiscardHandler),
		Hasher: password.Hasher{Algorithm: password.BCrypt, Cost: cost},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRootIsCreatedOnce(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		const nodes = 8
		var wg sync.WaitGroup
		created := make([]bool, nodes)
		errs := make([]error, nodes)
		for i := range nodes {
			d := newDirectory(t, db, 4)
			wg.Go(func() { created[i], errs[i] = d.EnsureRoot(t.Context(), fmt.Sprintf("password%d", i)) })
		}
		wg.Wait()
		winner := -1
		for i := range nodes {
			if errs[i] != nil {
				t.Errorf("node %d: %v", i, errs[i])
			}
			if created[i] && winner >= 0 {
				t.Errorf("nodes %d and %d both created root", winner, i)
			}
			if created[i] {
				winner = i
			}
		}
		if winner < 0 {
			t.Fatal("nobody created root")
		}
		d := newDirectory(t, db, 4)
		id, err := d.Authenticate(t.Context(), "app", fmt.Sprintf("password%d", winner), netip.Addr{})
		if err != nil || id.ID != RootID || len(id.Permissions.Missing(permission.All())) > 0 {
			t.Errorf("root: %+v, %v", id, err)
		}
	})
}

func TestRootNameTakenByAnother(t *testing.T) {
	db := storetest.SQLite(t)
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.InsertAdmins(ctx, tx, store.Admin{ID: 5, LoginName: RootLoginName, Password: []byte("x"), DisplayName: "x"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newDirectory(t, db, 4).EnsureRoot(t.Context(), "app"); !errors.Is(err, store.ErrDuplicateKey) {
		t.Errorf("error %v, want a duplicate key", err)
	}
}

// TestVerificationIsRemembered proves that the slow hash is computed once for each password, and
// that a change invalidates the cache.
func TestVerificationIsRemembered(t *testing.T) {
	d := newDirectory(t, storetest.SQLite(t), 4)
	if _, err := d.EnsureRoot(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	login := func(pw string) error {
		_, err := d.Authenticate(t.Context(), "app", pw, netip.Addr{})
		return err
	}
	// With all slots taken no hash can be computed: only cached logins succeed.
	block := func() (release func()) {
		for range cap(d.verifier.slots) {
			d.verifier.slots <- struct{}{}
		}
		return func() {
			for range cap(d.verifier.slots) {
				<-d.verifier.slots
			}
		}
	}
	quick := func(pw string) bool {
		defer block()()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := d.Authenticate(ctx, "app", pw, netip.Addr{})
		return err == nil
	}
	if quick("app") {
		t.Fatal("a password passed before it was verified")
	}
	if err := login("app"); err != nil {
		t.Fatal(err)
	}
	if !quick("app") {
		t.Error("the second request pays for the hash again")
	}
	if quick("other") {
		t.Error("another password passed")
	}
	next := "next"
	if _, err := d.Update(t.Context(), By{ID: RootID}, []int64{RootID}, Change{Password: &next}); err != nil {
		t.Fatal(err)
	}
	if quick("app") {
		t.Error("the old password is remembered after the change")
	}
	if err := login("next"); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if err := login("app"); apierr.From(err).Code != apierr.Unauthorized {
		t.Errorf("the old password: %v", err)
	}
	now := time.Now()
	d.verifier.now = func() time.Time { return now.Add(verificationTime + time.Second) }
	if quick("next") {
		t.Error("a verification is remembered for ever")
	}
}

// TestUnknownNamesCostAHash counts the slow comparisons rather than measuring
// time.
func TestUnknownNamesCostAHash(t *testing.T) {
	d := newDirectory(t, storetest.SQLite(t), 4)
	for range cap(d.verifier.slots) {
		d.verifier.slots <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Authenticate(ctx, "nobody", "x", netip.Addr{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an unknown name did not wait for a hash: %v", err)
	}
	for range cap(d.verifier.slots) {
		<-d.verifier.slots
	}
	if _, err := d.Authenticate(t.Context(), "nobody", "x", netip.Addr{}); apierr.From(err).Code != apierr.Unauthorized {
		t.Errorf("an unknown name: %v", err)
	}
}

// TestOtherNodesSeeChanges runs two directories over one store.
func TestOtherNodesSeeChanges(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		here, there := newDirectory(t, db, 4), newDirectory(t, db, 4)
		if _, err := here.EnsureRoot(t.Context(), "app"); err != nil {
			t.Fatal(err)
		}
		if _, err := there.Authenticate(t.Context(), "app", "app", netip.Addr{}); err != nil {
			t.Fatalf("an administrator that was just created elsewhere: %v", err)
		}
		if _, err := here.CreateRole(t.Context(), By{ID: RootID}, store.AdminRole{ID: 1, Name: "X", Rank: 1, Permissions: []string{"LOG_QUERY"}}); err != nil {
			t.Fatal(err)
		}
		next := "next"
		if _, err := here.Update(t.Context(), By{ID: RootID}, []int64{RootID}, Change{Password: &next}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- there.Run(ctx) }()
		seen := func() bool {
			_, err := there.Authenticate(t.Context(), "app", "app", netip.Addr{})
			total, _ := there.FindRoles(RoleFilter{}, 10, 0)
			return err != nil && total == 2
		}
		for deadline := time.Now().Add(10 * time.Second); !seen(); {
			if time.Now().After(deadline) {
				t.Fatal("the changes do not show elsewhere")
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestStoreDown checks that administrators can log in with cached credentials.
func TestStoreDown(t *testing.T) {
	db := storetest.SQLite(t)
	d := newDirectory(t, db, 4)
	if _, err := d.EnsureRoot(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Authenticate(t.Context(), "app", "app", netip.Addr{}); err != nil {
		t.Errorf("with the store closed: %v", err)
	}
	if _, err := d.Find(t.Context(), store.AdminFilter{}, 10, 0); !errors.Is(err, store.ErrClosed) {
		t.Errorf("administrators with the store closed: %v", err)
	}
}

func TestConcurrentLogins(t *testing.T) {
	d := newDirectory(t, storetest.SQLite(t), 4)
	if _, err := d.EnsureRoot(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			pw, want := "app", apierr.OK
			if i%2 == 1 {
				pw, want = "wrong", apierr.Unauthorized
			}
			_, err := d.Authenticate(t.Context(), "app", pw, netip.Addr{})
			got := apierr.OK
			if err != nil {
				got = apierr.From(err).Code
			}
			if got != want {
				t.Errorf("%q: %v, want %v", pw, err, want)
			}
		})
	}
	wg.Wait()
}

func TestRandomLetters(t *testing.T) {
	a, b := randomLetters(16), randomLetters(16)
	if len(a) != 16 || a == b {
		t.Errorf("%q and %q", a, b)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	db := storetest.SQLite(b)
	generator, err := ids.New(1)
	if err != nil {
		b.Fatal(err)
	}
	d, err := NewDirectory(b.Context(), Options{
		Store: db, IDs: generator, Logger: slog.New(slog.DiscardHandler),
		Hasher: password.Hasher{Algorithm: password.BCrypt, Cost: 10},
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := d.EnsureRoot(b.Context(), "app"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := d.Authenticate(b.Context(), "app", "app", netip.Addr{}); err != nil {
			b.Fatal(err)
		}
	}
}
