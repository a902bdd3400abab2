// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// disk is a destination with limited space that can also stop responding.
type disk struct {
	mu      sync.Mutex
	data    bytes.Buffer
	space   int
	stopped chan struct{} // writes wait until it is closed
}

var errFull = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	if d.stopped != nil {
		<-d.stopped
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	n := min(d.space, len(p))
	d.space -= n
	d.data.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (d *disk) Close() error { return nil }

func (d *disk) grow(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.space += n
}

func (d *disk) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.data.String()
}

func write(t *testing.T, s *spool, record string) {
	t.Helper()
	if n, err := s.Write([]byte(record)); n != len(record) || err != nil {
		t.Errorf("Write = %d, %v", n, err)
	}
}

func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{space: 15}
		var reports []error
		s := newSpool(d, spoolOptions{failed: func(err error) { reports = append(reports, err) }})
		write(t, s, "record 1\n")
		write(t, s, "record 2\n")
		write(t, s, "record 3\n")
		s.flush()
		write(t, s, "record 4\n")
		s.flush()
		if got := s.dropped.Load(); got != 3 {
			t.Errorf("%d records dropped, want 3", got)
		}
		d.grow(1000)
		write(t, s, "record 5\n")
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if got, want := d.text(), "record 1\nrecord\nrecord 5\n"; got != want {
			t.Errorf("the disk holds %q, want %q", got, want)
		}
		if len(reports) != 1 || !errors.Is(reports[0], errFull) {
			t.Errorf("reports are %v, want one", reports)
		}
	})
}

func TestStalledDiskBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{space: 2 * maxPending, stopped: make(chan struct{})}
		s := newSpool(d, spoolOptions{failed: func(err error) { t.Errorf("report: %v", err) }})
		start := time.Now()
		write(t, s, "first\n")
		s.flush()
		if waited := time.Since(start); waited != flushTimeout {
			t.Errorf("the first warning waited %v, want %v", waited, flushTimeout)
		}
		record := strings.Repeat("x", 1023) + "\n"
		for range maxPending/len(record) + 10 {
			write(t, s, record)
		}
		s.flush()
		if waited := time.Since(start); waited != flushTimeout {
			t.Errorf("others waited %v", waited-flushTimeout)
		}
		if got := s.dropped.Load(); got != 10 {
			t.Errorf("%d records dropped, want 10", got)
		}
		close(d.stopped)
		synctest.Wait()
		write(t, s, "last\n")
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if got := d.text(); !strings.HasPrefix(got, "first\n") || !strings.HasSuffix(got, "x\nlast\n") || len(got) != maxPending+11 {
			t.Errorf("the disk holds %d bytes", len(got))
		}
	})
}

func TestCloseDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{space: 100, stopped: make(chan struct{})}
		s := newSpool(d, spoolOptions{})
		write(t, s, "stuck\n")
		start := time.Now()
		if err := s.close(); err == nil {
			t.Error("no error")
		}
		if waited := time.Since(start); waited != closeTimeout {
			t.Errorf("waited %v, want %v", waited, closeTimeout)
		}
		close(d.stopped)
	})
}

func TestPieces(t *testing.T) {
	long := strings.Repeat("x", flushSize)
	for _, c := range []struct {
		records string
		want    int
	}{
		{"a\nb\n", 4},
		{"a\n" + long + "\n", 2},
		{long + "\na\n", flushSize + 1},
		{long + "y", flushSize + 1},
	} {
		if got := pieceLen([]byte(c.records)); got != c.want {
			t.Errorf("pieceLen of %d bytes = %d, want %d", len(c.records), got, c.want)
		}
	}
}
