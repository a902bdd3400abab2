// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"
	"time"

	"example.org/app/internal/apierr"
)

// A Rejected is a file that could not be loaded.
type Rejected struct {
	Name, Path string
	Reason     string
	At         time.Time
}

// Rejected returns the files that could not be loaded, by their names, each with the newest reason.
func (m *Manager) Rejected() []Rejected {
	m.listMu.RLock()
	defer m.listMu.RUnlock()
	return slices.SortedStableFunc(slices.Values(m.rejected), func(a, b Rejected) int { return strings.Compare(a.Name, b.Name) })
}

// reject keeps why a file was not loaded.
func (m *Manager) reject(src Source, err error) {
	reason := apierr.From(err).Reason
	m.opts.Logger.Warn("plugin rejected", "file", src.Name, "reason", reason)
	m.forgetRejection(src)
	m.listMu.Lock()
	defer m.listMu.Unlock()
	if m.rejected = append(m.rejected, Rejected{Name: src.Name, Path: src.Path, Reason: reason, At: time.Now().UTC().Truncate(time.Millisecond)}); len(m.rejected) > maxRejected {
		m.rejected = slices.Delete(m.rejected, 0, 1)
	}
}

// maxRejected bounds how many rejections are kept.
const maxRejected = 100

// forgetRejection forgets that a file was rejected.
func (m *Manager) forgetRejection(src Source) {
	m.listMu.Lock()
	defer m.listMu.Unlock()
	m.rejected = slices.DeleteFunc(slices.Clone(m.rejected), func(r Rejected) bool { return r.Name == src.Name && r.Path == src.Path })
}
