// SPDX-License-Identifier: Apache-2.0

package scratch

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// parentVariable makes the test program open a folder, print its path and wait until it is killed.
const parentVariable = "APP_TEST_SCRATCH_PARENT"

func TestMain(m *testing.M) {
	parent := os.Getenv(parentVariable)
	if parent == "" {
		os.Exit(m.Run())
	}
	f, err := Open(parent, "app-test-")
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.WriteString(f.Path + "\n"); err != nil {
		panic(err)
	}
	// Without a timer the runtime would report a deadlock.
	time.Sleep(time.Hour)
	runtime.KeepAlive(f)
}

// TestFoldersOfTheKilled runs two processes with a folder each, and kills one.
func TestFoldersOfTheKilled(t *testing.T) {
	parent := t.TempDir()
	hold := func() (path string, kill func()) {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), parentVariable+"="+parent)
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		kill = func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
		t.Cleanup(kill)
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line), kill
	}
	there := func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}
	left, kill := hold()
	kept, _ := hold()
	stranger := filepath.Join(parent, "app-test-stranger")
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if !there(left) {
		t.Fatal("the folder of a process that lives was removed")
	}
	kill()
	f, err := Open(parent, "app-test-")
	if err != nil {
		t.Fatal(err)
	}
	if there(left) || !there(kept) || !there(stranger) || !there(f.Path) {
		t.Errorf("of the killed %t, of the living %t, of a stranger %t, the new one %t", there(left), there(kept), there(stranger), there(f.Path))
	}
	if err := f.Remove(); err != nil || there(f.Path) {
		t.Errorf("it was not removed: %v", err)
	}
	if _, err := Open(filepath.Join(parent, "none"), "app-test-"); err == nil {
		t.Error("Open succeeded in a missing parent")
	}
}

// TestOpenTogether opens folders while others look for stale ones.
func TestOpenTogether(t *testing.T) {
	parent := t.TempDir()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				f, err := Open(parent, "app-test-")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := os.Stat(f.Path); err != nil {
					t.Errorf("the new folder was removed: %v", err)
				}
				if err := f.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
