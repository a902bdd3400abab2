// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/plugin"
)

// hookSchedule is the protocol number for running a schedule.
const hookSchedule = 5

// Schedules returns the schedules of the extension.
func (x *extension) Schedules() []*plugin.Schedule { return x.schedules.List() }

// schedule adds a schedule at a plugin's request, and returns its name.
func (q *question) schedule() ([]byte, error) {
	s, r := q.session, q.rest
	class, name, when, leaderOnly := r.string(), r.string(), r.string(), r.bool()
	if err := r.end(); err != nil {
		return nil, err
	}
	x, err := q.m.extension(class)
	if err != nil {
		return nil, err
	}
	n, err := plugin.NewSchedule(name, when, leaderOnly)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	// Schedules of the former JVM, in which the extension no longer runs, are replaced by those of
	// this one.
	x.schedules.Keep(func(other *plugin.Schedule) bool { return other.Name != n.Name || x.scheduledIn[other] == s })
	if err := x.schedules.Add(n); err != nil {
		return nil, err
	}
	if x.scheduledIn == nil {
		x.scheduledIn = map[*plugin.Schedule]*session{}
	}
	x.scheduledIn[n] = s
	return appendString(nil, n.Name), nil
}

// unschedule removes a schedule at a plugin's request.
func (q *question) unschedule() ([]byte, error) {
	class, name := q.rest.string(), q.rest.string()
	if err := q.rest.end(); err != nil {
		return nil, err
	}
	x, err := q.m.extension(class)
	if err != nil {
		return nil, err
	}
	return appendBool(nil, x.unschedule(func(n *plugin.Schedule, in *session) bool { return n.Name == name && in == q.session })), nil
}

// extension returns the extension of a class.
func (m *module) extension(class string) (*extension, error) {
	i := slices.IndexFunc(m.extensions, func(x *extension) bool { return x.class == class })
	if i < 0 {
		return nil, fmt.Errorf("the plugin has no extension %s", shorten(class))
	}
	return m.extensions[i], nil
}

// unschedule removes the selected schedules, and reports whether there were any.
func (x *extension) unschedule(which func(n *plugin.Schedule, in *session) bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	ended := x.schedules.Keep(func(n *plugin.Schedule) bool { return !which(n, x.scheduledIn[n]) })
	for n := range x.scheduledIn {
		if !slices.Contains(x.schedules.List(), n) {
			delete(x.scheduledIn, n)
		}
	}
	return ended
}

// runSchedule runs the function of a schedule in the extension's current JVM.
func (x *extension) runSchedule(ctx context.Context, args []any) error {
	name, slot := args[0].(string), args[1].(time.Time)
	a, err := x.hookCall(ctx, hookSchedule, nil, func(body []byte) []byte { return appendInt(appendString(body, name), slot.UnixMilli()) })
	a.free()
	return err
}

// hookCall calls the extension with a hook that does not change its state.
func (x *extension) hookCall(ctx context.Context, hook byte, output plugin.EndpointOutput, write func(body []byte) []byte) (answer, error) {
	defer x.hold(ctx)()
	for {
		if b := x.broken.Load(); b != nil {
			return answer{}, b.why
		}
		if err := x.module.leaving.Load(); err != nil {
			return answer{}, *err
		}
		b, err := x.module.bound()
		if err != nil {
			return answer{}, err
		}
		a, err := b.requestWith(ctx, kindHook, x.module, func(body []byte) ([]byte, error) {
			return write(append(appendUint(body, b.extensions[x.index]), hook)), nil
		}, handling{output: output})
		if !errors.Is(err, errUnsent) {
			if err != nil && ctx.Err() != nil && b.isSilent() {
				plugin.NoteRestart(ctx)
			}
			return a, err
		}
		if err := x.module.next(ctx, b); err != nil {
			return answer{}, err
		}
	}
}

var _ plugin.Scheduler = (*extension)(nil)
