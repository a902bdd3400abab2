// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Invoke calls a method of an extension point like the server does, by its mode, but always waits.
// It is for tests of plugins: the types are known only at run time. args has a value for each
// parameter; the result has the method's result type, or is nil if no extension answered.
func (cs *Calls) Invoke(ctx context.Context, method *Method, args []any) (result any, err error) {
	bounds := cs.boundsOf(method)
	if method.Mode == Pipeline {
		args = slices.Clone(args)
	}
	var failures []error
	now := func() ([]any, any, bool) { return slices.Clone(args), result, result != nil && method.Mode != Pipeline }
	err = cs.each(ctx, method, func() (int64, bool) { return method.concernedBy(args) }, now, func(b *member) (bool, error) {
		var target any
		if method.Result != nil {
			target = reflect.New(method.Result).Interface()
		}
		ok, err := b.call(ctx, method, bounds, args, target)
		if err != nil {
			if errors.Is(err, errRetired) {
				return true, err
			}
			failures = append(failures, err) // The caller decides what it means.
			if method.Mode != Simultaneous {
				return false, nil
			}
		}
		if ok && target != nil {
			result = reflect.ValueOf(target).Elem().Interface()
			if method.Mode == Pipeline {
				args[0] = result
			}
		}
		return method.Mode == Pipeline || method.Mode == Simultaneous || method.Mode == Repeated || !ok && method.Mode == FirstAnswer, nil
	})
	return result, errors.Join(append(failures, err)...)
}

// NextSlot returns the first slot after a time in the schedules of started extensions, or the zero
// time if there is none.
func (t *Timetable) NextSlot(after time.Time) (next time.Time) {
	t.each(func(b *member, s *Schedule) {
		if at := s.Next(after); b.runsSchedules() && !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	})
	return next
}

// RunSlot runs the schedules with a slot at a time, concurrently, and waits for them. It is for
// tests of plugins, where HoldSchedules prevents schedules from running by themselves.
func (t *Timetable) RunSlot(slot time.Time) {
	var running sync.WaitGroup
	t.each(func(b *member, s *Schedule) {
		if !b.runsSchedules() || !s.Next(slot.Add(-1)).Equal(slot) {
			return
		}
		t.mu.Lock()
		e := t.entry(b.keyOf(s))
		e.schedule = s
		begins := e.begin()
		t.mu.Unlock()
		if begins {
			running.Go(func() { t.runSlot(b, e, s, slot, s.Next(slot)) })
		}
	})
	running.Wait()
}
