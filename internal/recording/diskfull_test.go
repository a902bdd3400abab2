// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/test/need"
)

// diskVariable is the small disk of the process that plays TestADiskThatIsFull.
const diskVariable = "APP_TEST_SMALL_DISK"

// TestADiskThatIsFull runs itself in a namespace of its own, with a disk of two megabytes.
func TestADiskThatIsFull(t *testing.T) {
	need.Time(t)
	if disk := os.Getenv(diskVariable); disk != "" {
		fillDisk(t, disk)
		return
	}
	disk := t.TempDir()
	const script = `mount -t tmpfs -o size=2m tmpfs "$APP_TEST_SMALL_DISK" || exit 77; exec "$@"`
	namespace := []string{"--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"}
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run(); err != nil {
		t.Skipf("there are no user namespaces, so that no small disk can be made: %v", err)
	}
	cmd := exec.Command("unshare", append(namespace, os.Args[0], "-test.run=^TestADiskThatIsFull$", "-test.v")...)
	cmd.Env = append(os.Environ(), diskVariable+"="+disk)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 77 {
		t.Skipf("no small disk can be mounted: %s", out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestADiskThatIsFull")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillDisk records until the disk is full.
func fillDisk(t *testing.T, disk string) {
	f := start(t, filepath.Join(disk, "recordings"), roomy)
	id := f.create(t, Spec{Description: "until the disk is full"})
	eventually(t, "the end of the recording", func() bool {
		f.rotateNow()
		return f.state(id) == Stopped
	})
	if event.On(event.KindSQLTransaction) {
		t.Error("events are wanted without a recording")
	}
	// What it has is whole.
	if events := f.events(t, id); len(events) == 0 {
		t.Error("the recording is empty")
	}
	checkFolder(t, f.folder)

	// Another one is refused, and leaves nothing behind.
	if err := os.WriteFile(filepath.Join(disk, "rest"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rest, err := os.OpenFile(filepath.Join(disk, "rest"), os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = rest.Write(make([]byte, 512))
	}
	rest.Close()
	if _, err := f.Create(Spec{}); code(err) != apierr.ServerInternalError || apierr.From(err).HTTP() != 507 || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("the error is %v", err)
	}
	if list := f.List(nil); len(list) != 1 {
		t.Errorf("there are %v", list)
	}
	checkFolder(t, f.folder)

	// When there is room again, everything works again.
	if err := os.Remove(filepath.Join(disk, "rest")); err != nil {
		t.Fatal(err)
	}
	f.Delete([]int64{id})
	next := f.create(t, Spec{})
	if _, err := jfrtest.Parse(f.read(t, next, true)); err != nil {
		t.Error(err)
	}
}

// checkFolder checks that no half file was left.
func checkFolder(t *testing.T, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s is left", path)
		}
		if filepath.Ext(path) == segmentSuffix {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if _, err := jfrtest.Parse(data); err != nil || len(data) == 0 {
				t.Errorf("%s has %d bytes: %v", path, len(data), err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
