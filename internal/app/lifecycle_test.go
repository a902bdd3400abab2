// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestLifecycleStopsInReverse(t *testing.T) {
	var order []string
	l := lifecycle{failed: make(chan error, 1)}
	for _, name := range []string{"first", "second", "third"} {
		l.add(part{
			name: name,
			run: func(ctx context.Context) error {
				<-ctx.Done()
				order = append(order, name+" ended")
				return nil
			},
			stop: func(context.Context) error {
				order = append(order, "stop "+name)
				if name == "second" {
					return errors.New("stuck")
				}
				return nil
			},
		})
	}
	err := l.stop(t.Context())
	if err == nil || err.Error() != "stop second: stuck" {
		t.Errorf("error %v", err)
	}
	want := []string{"stop third", "third ended", "stop second", "second ended", "stop first", "first ended"}
	if !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestLifecycleReportsFailure(t *testing.T) {
	l := lifecycle{failed: make(chan error, 1)}
	for range 3 {
		l.add(part{name: "part", run: func(context.Context) error { return errors.New("broken") }})
	}
	if err := <-l.failed; err.Error() != "part: broken" {
		t.Errorf("error %v", err)
	}
	if err := l.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
