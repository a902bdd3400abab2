// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

// everyNodeCall defines a recording that flood can fill.
const everyNodeCall = `{"customSettings":{"app.NodeCall#threshold":"0 ns","app.NodeCall#throttle":"off"}}`

// flood emits events of about a megabyte.
func flood() {
	for n := range 4000 {
		event.Record(event.NodeCall{Span: event.Span{Start: time.Now(), Duration: time.Millisecond}, Call: "flood", Subject: fmt.Sprintf("%0250d", n)})
	}
}

// startDownload begins a download. The caller must close the body.
func startDownload(t *testing.T, s *apptest.Server, r role.Role, target string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(r)+"/flight-recordings/jfr?"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// finishDownload reads the rest of a download, which must be a whole recording.
func finishDownload(t *testing.T, resp *http.Response, head []byte) {
	t.Helper()
	defer resp.Body.Close()
	rest, err := io.ReadAll(resp.Body)
	data := append(head, rest...)
	if err != nil || int64(len(data)) != resp.ContentLength {
		t.Errorf("read %d of %d bytes: %v", len(data), resp.ContentLength, err)
	}
	chunks, err := jfr.Scan(bytes.NewReader(data), int64(len(data)))
	if err != nil || len(chunks) == 0 || chunks[len(chunks)-1].Offset+chunks[len(chunks)-1].Size != int64(len(data)) {
		t.Errorf("the %d bytes are no whole chunks: %v, %v", len(data), chunks, err)
	}
}

// checkRecordingFolder checks the number of recordings and that no partial files are left.
func checkRecordingFolder(t *testing.T, folder string, recordings int) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case d.Name() == "recording.json":
			found++
		case strings.HasSuffix(path, ".tmp"):
			t.Errorf("%s is left", path)
		case filepath.Ext(path) == ".jfr":
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
	if err != nil || found != recordings {
		t.Errorf("the folder has %d recordings, want %d: %v", found, recordings, err)
	}
}

func TestDownloadsOfFlightRecordingsThatAreDeleted(t *testing.T) {
	need.Time(t)
	for _, r := range role.All {
		t.Run(string(r), func(t *testing.T) {
			folder := t.TempDir()
			s := apptest.Start(t, role.All, "app.flight-recorder.dir="+folder)
			want(t, s, r, "POST", "/flight-recordings", everyNodeCall, 200, `"data":1`)
			// More than the buffers of a connection hold, so that the download waits for the test.
			const large = 12 << 20
			var first *http.Response
			eventually(t, "a large recording", func() bool {
				for range 3 { // A chunk is at most four megabytes.
					flood()
				}
				if first != nil {
					first.Body.Close()
				}
				first = startDownload(t, s, r, "id=1")
				return first.ContentLength > large
			})
			head := make([]byte, 100)
			if _, err := io.ReadFull(first.Body, head); err != nil {
				t.Fatal(err)
			}
			second := startDownload(t, s, r, "id=1")
			want(t, s, r, "DELETE", "/flight-recordings?ids=1", "", 200, `"deletedCount":1`)
			if event.On(event.KindNodeCall) {
				t.Error("events are wanted without a recording")
			}
			want(t, s, r, "GET", "/flight-recordings/jfr?id=1", "", 404, `"code":1302`)
			finishDownload(t, second, nil)
			finishDownload(t, first, head)
			eventually(t, "the removal of the files", func() bool {
				left, err := filepath.Glob(filepath.Join(folder, "[0-9]*"))
				return err == nil && len(left) == 0
			})
			want(t, s, r, "GET", "/flight-recordings", "", 204)
		})
	}
}

// TestFlightRecordingsAtOnce runs all operations on the same recordings concurrently.
func TestFlightRecordingsAtOnce(t *testing.T) {
	folder := t.TempDir()
	s := apptest.Start(t, role.All, "app.flight-recorder.dir="+folder, "app.flight-recorder.max-recordings=2")
	for round := 1; round <= 3; round++ {
		id := fmt.Sprint(round)
		want(t, s, role.Service, "POST", "/flight-recordings", everyNodeCall, 200, `"data":`+id)
		flood()
		var callers sync.WaitGroup
		for n := range 8 {
			r := role.All[n%len(role.All)]
			callers.Go(func() {
				resp := startDownload(t, s, r, "id="+id+"&close="+fmt.Sprint(n%4 == 0))
				if resp.StatusCode == http.StatusOK {
					finishDownload(t, resp, nil)
					return
				}
				defer resp.Body.Close()
				if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusNotFound || !bytes.Contains(body, []byte(`"code":1302`)) {
					t.Errorf("a download is %d %s, %v", resp.StatusCode, body, err)
				}
			})
		}
		callers.Go(func() { want(t, s, role.Gateway, "DELETE", "/flight-recordings?ids="+id, "", 200, `"deletedCount":1`) })
		callers.Wait()
		eventually(t, "the removal of the files", func() bool {
			left, err := filepath.Glob(filepath.Join(folder, "[0-9]*"))
			return err == nil && len(left) == 0
		})
	}
	// As many callers as want to start one at once: two do.
	var callers sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	for range 6 {
		callers.Go(func() {
			status, body := ask(t, s, role.Service, "POST", "/flight-recordings", "")
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
			if status == http.StatusConflict && !strings.Contains(body, "app.flight-recorder.max-recordings") {
				t.Errorf("the refusal is %s", body)
			}
		})
	}
	callers.Wait()
	if answers[http.StatusOK] != 2 || answers[http.StatusConflict] != 4 {
		t.Errorf("the answers are %v", answers)
	}
	checkRecordingFolder(t, folder, 2)
}

// smallDiskVariable is the path of the small disk in the process that runs
// TestFlightRecordingsOnADiskThatIsFull.
const smallDiskVariable = "APP_TEST_SMALL_DISK"

// TestFlightRecordingsOnADiskThatIsFull runs itself in a mount namespace with a disk of three
// megabytes.
func TestFlightRecordingsOnADiskThatIsFull(t *testing.T) {
	need.Time(t)
	if disk := os.Getenv(smallDiskVariable); disk != "" {
		for _, r := range role.All {
			fillRecordingDisk(t, r, filepath.Join(disk, string(r)))
		}
		return
	}
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").Run(); err != nil {
		t.Skipf("there are no user namespaces, so that no small disk can be made: %v", err)
	}
	const script = `mount -t tmpfs -o size=3m tmpfs "$APP_TEST_SMALL_DISK" || exit 77; exec "$@"`
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh",
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), smallDiskVariable+"="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == 77 {
		t.Skipf("no small disk can be mounted: %s", out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillRecordingDisk records until the disk is full, and continues when there is space again.
func fillRecordingDisk(t *testing.T, r role.Role, folder string) {
	s := apptest.Start(t, role.All, "app.flight-recorder.dir="+folder)
	want(t, s, r, "POST", "/flight-recordings", everyNodeCall, 200, `"data":1`)
	eventually(t, "the end of the recording", func() bool {
		flood()
		resp := startDownload(t, s, r, "id=1")
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("the download is %s", resp.Status)
		}
		_, list := ask(t, s, r, "GET", "/flight-recordings", "")
		return strings.Contains(list, `"id":1,"state":"STOPPED"`)
	})
	// The stored part is complete, and the server works.
	finishDownload(t, startDownload(t, s, r, "id=1"), nil)
	checkRecordingFolder(t, folder, 1)
	want(t, s, role.Service, "GET", "/users", "", 204)

	// Another one is refused, and leaves nothing behind.
	rest := filepath.Join(filepath.Dir(folder), "rest")
	file, err := os.Create(rest)
	for err == nil {
		_, err = file.Write(make([]byte, 512))
	}
	file.Close()
	want(t, s, r, "POST", "/flight-recordings", "", 507, "no space left")
	want(t, s, r, "GET", "/flight-recordings?ids=2", "", 204)
	checkRecordingFolder(t, folder, 1)

	if err := os.Remove(rest); err != nil {
		t.Fatal(err)
	}
	want(t, s, r, "DELETE", "/flight-recordings?ids=1", "", 200, `"deletedCount":1`)
	want(t, s, r, "POST", "/flight-recordings", "", 200)
	want(t, s, r, "DELETE", "/flight-recordings?ids=1,2,3", "", 200, `"deletedCount":1`)
	checkRecordingFolder(t, folder, 0)
}
