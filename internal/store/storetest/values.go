// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/store"
)

func testTypedErrors(t *testing.T, db *store.DB) {
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.InsertAdmins(ctx, tx, store.Admin{ID: 1, LoginName: "one", RoleIDs: []int64{7}})
	})
	insert := func(admin store.Admin) store.WriteFunc {
		return func(ctx context.Context, tx store.Tx) error { return store.InsertAdmins(ctx, tx, admin) }
	}
	raw := func(statement string) store.WriteFunc {
		return func(ctx context.Context, tx store.Tx) error {
			return Exec(ctx, tx, statement)
		}
	}
	for _, test := range []struct {
		name       string
		fn         store.WriteFunc
		want       error
		constraint string
	}{
		{"primary key", insert(store.Admin{ID: 1, LoginName: "two"}), store.ErrDuplicateKey, "admin_pkey"},
		{"unique", insert(store.Admin{ID: 2, LoginName: "one"}), store.ErrDuplicateKey, "admin_login_name_key"},
		{
			"composite key", raw("INSERT INTO admin_role_member (admin_id, role_id) VALUES (1, 7)"),
			store.ErrDuplicateKey, "admin_role_member_pkey",
		},
		{"foreign key", raw("INSERT INTO admin_role_member (admin_id, role_id) VALUES (99, 7)"), store.ErrForeignKey, ""},
		{"missing value", raw("INSERT INTO admin_role (id, name, rank) VALUES (1, 'x', 1)"), store.ErrInvalidValue, ""},
		{"no rows", func(ctx context.Context, tx store.Tx) error {
			var id int64
			return First(ctx, tx, "SELECT id FROM admin WHERE id = 99", &id)
		}, store.ErrNotFound, ""},
	} {
		err := db.Write(t.Context(), test.fn)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
		duplicate, ok := errors.AsType[*store.DuplicateKeyError](err)
		if ok != (test.constraint != "") {
			t.Errorf("%s: error type is %T", test.name, err)
		} else if ok && (duplicate.Constraint != test.constraint || !strings.HasPrefix(test.constraint, duplicate.Table+"_")) {
			t.Errorf("%s: table %q, constraint %q, want %q", test.name, duplicate.Table, duplicate.Constraint, test.constraint)
		}
	}
}

func testInvalidText(t *testing.T, db *store.DB) {
	for _, text := range []string{"a\x00b", "\x00", "a\xffb", "\xc3", "\xed\xa0\x80"} {
		err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return store.InsertAdmins(ctx, tx, store.Admin{ID: 1, LoginName: text})
		})
		if !errors.Is(err, store.ErrInvalidValue) {
			t.Errorf("insert %q: error %v, want an invalid value", text, err)
		}
		for _, count := range []int{1, 500} {
			names := append(slices.Repeat([]string{"x"}, count-1), text)
			err = db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
				_, err := store.FindAdmins(ctx, r, store.AdminFilter{LoginNames: names}, store.Page{})
				return err
			})
			if !errors.Is(err, store.ErrInvalidValue) {
				t.Errorf("look for %q among %d: error %v, want an invalid value", text, count, err)
			}
		}
		if _, err := db.Revision(t.Context(), text); !errors.Is(err, store.ErrInvalidValue) {
			t.Errorf("revision %q: error %v, want an invalid value", text, err)
		}
	}
}

// testValues stores boundary values and reads them back unchanged.
func testValues(t *testing.T, db *store.DB) {
	allBytes := make([]byte, 256)
	for i := range allBytes {
		allBytes[i] = byte(i)
	}
	var admins []store.Admin
	for i, text := range []string{
		"", " ", "'", "''; DROP TABLE admin; --", `\`, `\'`, "?", "$1 ?0 ?name", "%_", "\"", "line\nbreak\r\t",
		"用户", "👩‍👩‍👧‍👦", "é", "e\u0301", "\u202e", "\U0010ffff", "NULL", "123", "1e5", strings.Repeat("ß", 1<<19),
	} {
		password := []byte(text)
		if i == 1 {
			password = allBytes
		}
		loginName := text
		if len(text) > 1000 {
			// PostgreSQL cannot index text of arbitrary length; names are shorter.
			loginName = text[:1000]
		}
		admins = append(admins, store.Admin{
			ID: math.MaxInt64 - int64(i), LoginName: loginName, DisplayName: text, Password: password, RoleIDs: []int64{math.MinInt64, 0, math.MaxInt64},
		})
	}
	admins = append(admins, store.Admin{ID: math.MinInt64, LoginName: "big", Password: bytes.Repeat([]byte{0, 255}, 2<<20)})
	for _, admin := range admins {
		write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertAdmins(ctx, tx, admin) })
		var found []store.Admin
		read(t, db, func(ctx context.Context, r store.Reader) (err error) {
			found, err = store.FindAdmins(ctx, r, store.AdminFilter{LoginNames: []string{admin.LoginName}}, store.Page{})
			return err
		})
		if len(found) != 1 || found[0].ID != admin.ID || found[0].LoginName != admin.LoginName ||
			found[0].DisplayName != admin.DisplayName || !bytes.Equal(found[0].Password, admin.Password) {
			t.Errorf("admin with login name %.40q was not read back as stored", admin.LoginName)
		}
	}
}

func testManyKeys(t *testing.T, db *store.DB) {
	const count = 1200
	var admins []store.Admin
	for i := range count {
		admins = append(admins, store.Admin{ID: int64(i), LoginName: name("user ", i, ` "'\,{}`)})
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertAdmins(ctx, tx, admins...) })
	var ids []int64
	var names []string
	// More than either engine accepts as parameters of one statement.
	for i := range 70_000 {
		ids = append(ids, int64(2*i))
	}
	for i := range 5_000 {
		names = append(names, name("user ", 2*i, ` "'\,{}`))
	}
	for _, filter := range []store.AdminFilter{{IDs: ids}, {LoginNames: names}, {IDs: ids, LoginNames: names}} {
		read(t, db, func(ctx context.Context, r store.Reader) error {
			counted, err := store.CountAdmins(ctx, r, filter)
			if err != nil {
				return err
			}
			found, err := store.FindAdmins(ctx, r, filter, store.Page{Limit: 5, Offset: 10})
			if err == nil && (counted != count/2 || len(found) != 5 || found[0].ID != 20) {
				t.Errorf("%d admins counted, page is %v", counted, found)
			}
			return err
		})
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		deleted, err := store.DeleteAdmins(ctx, tx, ids)
		if err == nil && deleted != count/2 {
			t.Errorf("%d admins deleted", deleted)
		}
		return err
	})
}

func testRevision(t *testing.T, db *store.DB) {
	wantRevision(t, db, "never", 0)
	role := store.AdminRole{ID: 5, Name: "r"}
	admin := store.Admin{ID: 6, LoginName: "a"}
	same, other := "r", "s"
	for i, step := range []struct {
		fn    store.WriteFunc
		bumps int64
	}{
		{func(ctx context.Context, tx store.Tx) error { return store.InsertAdminRoles(ctx, tx, role) }, 1},
		{func(ctx context.Context, tx store.Tx) error { return store.InsertAdmins(ctx, tx, admin) }, 1},
		{func(ctx context.Context, tx store.Tx) error { return store.InsertAdmins(ctx, tx) }, 0},
		{func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateAdminRoles(ctx, tx, []int64{5}, store.AdminRoleChange{Name: &same})
			return err
		}, 0},
		{func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateAdminRoles(ctx, tx, []int64{5}, store.AdminRoleChange{Name: &other})
			return err
		}, 1},
		{func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateAdmins(ctx, tx, []int64{6}, store.AdminChange{RoleIDs: &[]int64{5}})
			return err
		}, 1},
		{func(ctx context.Context, tx store.Tx) error {
			_, err := store.DeleteAdmins(ctx, tx, []int64{99})
			return err
		}, 0},
		{func(ctx context.Context, tx store.Tx) error {
			_, err := store.DeleteAdmins(ctx, tx, []int64{6})
			return err
		}, 1},
		{func(ctx context.Context, tx store.Tx) error {
			_, err := store.DeleteAdminRoles(ctx, tx, []int64{5})
			return err
		}, 1},
	} {
		before, err := db.Revision(t.Context(), store.RevisionAdmin)
		if err != nil {
			t.Fatal(err)
		}
		write(t, db, step.fn)
		wantRevision(t, db, store.RevisionAdmin, before+step.bumps)
		if t.Failed() {
			t.Fatalf("after step %d", i)
		}
	}
}

func testClusterValue(t *testing.T, db *store.DB) {
	values := make([][]byte, contenders)
	parallel(contenders, func(i int) {
		var err error
		values[i], err = db.GetOrCreate(context.Background(), "key", func() []byte { return []byte{0, byte(i), 255} })
		if err != nil {
			t.Errorf("contender %d: %v", i, err)
		}
	})
	for i, value := range values {
		if len(value) != 3 || !bytes.Equal(value, values[0]) {
			t.Errorf("contender %d got %v, the first %v", i, value, values[0])
		}
	}
	again, err := db.GetOrCreate(t.Context(), "key", func() []byte {
		t.Error("create was called for a value that exists")
		return nil
	})
	if err != nil || !bytes.Equal(again, values[0]) {
		t.Errorf("got %v with error %v, want %v", again, err, values[0])
	}
	empty, err := db.GetOrCreate(t.Context(), "empty", func() []byte { return nil })
	if err != nil || empty == nil || len(empty) != 0 {
		t.Errorf("empty value: got %v with error %v", empty, err)
	}
}
