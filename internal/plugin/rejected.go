// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/apierr"
)

// A Rejected is a file that could not be loaded.
type Rejected struct {
	Name, Path string
	Reason     string
	At         time.Time
}

// Rejections are the files that could not be loaded.
type Rejections struct {
	logger *slog.Logger
	mu     sync.RWMutex
	list   []Rejected
}

// All returns the files that could not be loaded, by name, each with the latest reason.
func (rs *Rejections) All() []Rejected {
	rs.mu.RLock()
	defer rs.mu.RUnlock()
	return slices.SortedStableFunc(slices.Values(rs.list), func(a, b Rejected) int { return strings.Compare(a.Name, b.Name) })
}

// add records why a file was not loaded.
func (rs *Rejections) add(src Source, err error) {
	reason := apierr.From(err).Reason
	rs.logger.Warn("plugin rejected", "file", src.Name, "reason", reason)
	rs.forget(src)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.list = append(rs.list, Rejected{Name: src.Name, Path: src.Path, Reason: reason, At: time.Now().UTC().Truncate(time.Millisecond)}); len(rs.list) > maxRejected {
		rs.list = slices.Delete(rs.list, 0, 1)
	}
}

// maxRejected is the maximum number of recorded rejections.
const maxRejected = 100

// forget removes the rejection of a file.
func (rs *Rejections) forget(src Source) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.list = slices.DeleteFunc(slices.Clone(rs.list), func(r Rejected) bool { return r.Name == src.Name && r.Path == src.Path })
}
