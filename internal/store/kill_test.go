// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// childVariable makes the test binary a program that writes to the database it names.
const childVariable = "APP_STORE_TEST_CHILD"

// writeUntilKilled writes rows from many goroutines and prints the id of every row once it is
// acknowledged.
func writeUntilKilled(url string) {
	db, err := store.Open(context.Background(), store.Options{URL: url})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var group sync.WaitGroup
	for writer := range 16 {
		group.Go(func() {
			for i := int64(writer) << 32; ; i++ {
				err := db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
					return store.InsertAdmins(ctx, tx, store.Admin{ID: i, LoginName: strconv.FormatInt(i, 10), RoleIDs: []int64{i}})
				})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Fprintln(os.Stdout, i)
			}
		})
	}
	group.Wait()
}

// TestKill checks that nothing acknowledged is lost, and nothing is half there, when the process is
// killed.
func TestKill(t *testing.T) {
	for round := range 3 {
		url := storetest.SQLiteURL(t)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"="+url)
		child.Stderr = os.Stderr
		output, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var acknowledged []int64
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			id, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				// The kill cut the last line short.
				break
			}
			acknowledged = append(acknowledged, id)
			if len(acknowledged) == 300*(round+1) {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait()
		if len(acknowledged) < 300 {
			t.Fatalf("the child wrote only %d rows", len(acknowledged))
		}
		db := storetest.Open(t, store.Options{URL: url})
		err = db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
			count, err := store.CountAdmins(ctx, r, store.AdminFilter{IDs: acknowledged})
			if err == nil && count != int64(len(acknowledged)) {
				t.Errorf("%d of %d acknowledged rows are there", count, len(acknowledged))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		checkIntegrity(t, strings.TrimPrefix(url, "sqlite:"))
	}
}

// checkIntegrity looks at the file without the store.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	var result string
	var halves int
	err = raw.QueryRow("PRAGMA integrity_check").Scan(&result)
	if err == nil {
		err = raw.QueryRow("SELECT count(*) FROM admin WHERE id NOT IN (SELECT admin_id FROM admin_role_member)").Scan(&halves)
	}
	if err != nil || result != "ok" || halves != 0 {
		t.Errorf("integrity is %q, %d rows are half written, error %v", result, halves, err)
	}
}
