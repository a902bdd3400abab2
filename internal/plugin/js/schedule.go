// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// A task is the function of a schedule. Only the owner of the engine may use it.
type task struct {
	extension *extension
	schedule  *plugin.Schedule
	function  engine.Value
}

// tasks are the functions of schedules by number.
type tasks struct {
	m    *module
	byID map[int]*task
	next int
}

// slotPlan converts the slot for the function of a schedule.
var slotPlan = sync.OnceValues(func() (*plan, error) {
	t := reflect.TypeFor[time.Time]()
	c, err := codecOf(t)
	return &plan{types: []reflect.Type{t}, params: []codec{c}}, err
})

var errNoExtension = errors.New("app.schedule must be called by a hook or a function of an extension, because the plugin has several extensions: the schedule follows the life of one")

// add is app.schedule: name, times, leaderOnly, and the function. It returns the number of the task
// and the name.
func (ts *tasks) add(_ engine.Value, args []engine.Value) (engine.Value, error) {
	if err := ts.m.server.loadedOnly("app.schedule"); err != nil {
		return engine.Undefined, err
	}
	var x *extension
	if c := ts.m.turns.current.Load(); c != nil && c.extension != nil {
		x = c.extension
	} else if len(ts.m.extensions) == 1 {
		x = ts.m.extensions[0]
	} else {
		return engine.Undefined, errNoExtension
	}
	leaderOnly, _ := engine.AsBool(args[2])
	s, err := plugin.NewSchedule(ts.m.t.text(args[0]), ts.m.t.text(args[1]), leaderOnly)
	if err != nil {
		return engine.Undefined, err
	}
	if err := x.schedules.Add(s); err != nil {
		return engine.Undefined, err
	}
	ts.next++
	ts.byID[ts.next] = &task{extension: x, schedule: s, function: ts.m.engine.Dup(args[3])}
	return ts.m.t.value(ts.m.t.anyToJS([]any{float64(ts.next), s.Name}))
}

// remove removes a schedule by the number of its task, and reports whether it existed.
func (ts *tasks) remove(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(args[0])
	t := ts.byID[int(id)]
	if t != nil {
		ts.drop(func(other *task) bool { return other == t })
	}
	return engine.Bool(t != nil), nil
}

// drop removes schedules.
func (ts *tasks) drop(which func(*task) bool) {
	for id, t := range ts.byID {
		if which(t) {
			t.extension.schedules.Keep(func(s *plugin.Schedule) bool { return s != t.schedule })
			ts.m.engine.Free(t.function)
			delete(ts.byID, id)
		}
	}
}

// Schedules are the schedules of the extension.
func (x *extension) Schedules() []*plugin.Schedule { return x.schedules.List() }

// runSchedule calls the function of a schedule.
func (x *extension) runSchedule(ctx context.Context, args []any) (bool, error) {
	p, err := slotPlan()
	if err != nil {
		return false, err
	}
	name := args[0].(string)
	return x.do(&call{ctx: ctx, extension: x, task: name, plan: p, label: "the schedule " + name, args: args[1:]})
}

// function returns the function of an extension's schedule, which the caller must free, and whether
// there is one.
func (ts *tasks) function(x *extension, name string) (engine.Value, bool) {
	for _, t := range ts.byID {
		if t.extension == x && t.schedule.Name == name {
			return ts.m.engine.Dup(t.function), true
		}
	}
	return engine.Undefined, false
}

var _ plugin.Scheduler = (*extension)(nil)
