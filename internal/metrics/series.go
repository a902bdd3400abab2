// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// maxSeries is the maximum number of series of a metric, so that tag values from outside cannot
	// exhaust the memory. Further combinations are counted together under overflowValue.
	maxSeries     = 2000
	overflowValue = "other"
)

// tagValues is the identity of a series within its family; unused places are empty.
type tagValues [maxTags]string

// series maps combinations of tag values to instruments. Reading takes no lock and allocates
// nothing: the map is copied on write, because new combinations are rare and look-ups happen on
// every request.
type series[T any] struct {
	name   string
	tags   int
	create func(values []string) *T
	// remove removes a series from the exposition; nil if series are never removed.
	remove func(values []string)

	mu     sync.Mutex
	byTags atomic.Pointer[map[tagValues]*T]
}

func newSeries[T any](f *family, create func(values []string) *T) *series[T] {
	s := &series[T]{name: f.Name, tags: len(f.Tags), create: create}
	s.byTags.Store(&map[tagValues]*T{})
	return s
}

// get panics if the number of values differs from the number of declared tags.
func (s *series[T]) get(values []string) *T {
	if len(values) != s.tags {
		panic(fmt.Sprintf("metrics: %q has %d tags, got %d values", s.name, s.tags, len(values)))
	}
	var key tagValues
	copy(key[:], values)
	if t, ok := (*s.byTags.Load())[key]; ok {
		return t
	}
	return s.add(key)
}

func (s *series[T]) add(key tagValues) *T {
	for i := range s.tags {
		key[i] = strings.ToValidUTF8(key[i], "\uFFFD")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := *s.byTags.Load()
	if t, ok := known[key]; ok {
		return t
	}
	if len(known) >= maxSeries {
		for i := range s.tags {
			key[i] = overflowValue
		}
		if t, ok := known[key]; ok {
			return t
		}
	}
	values := make([]string, s.tags)
	copy(values, key[:])
	t := s.create(values)
	grown := make(map[tagValues]*T, len(known)+1)
	maps.Copy(grown, known)
	grown[key] = t
	s.byTags.Store(&grown)
	return t
}

// forget removes the series whose values match. Values recorded through a removed instrument are
// lost.
func (s *series[T]) forget(match func(values []string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := *s.byTags.Load()
	left := make(map[tagValues]*T, len(known))
	for key, t := range known {
		if values := key[:s.tags]; match(values) {
			s.remove(values)
		} else {
			left[key] = t
		}
	}
	s.byTags.Store(&left)
}
