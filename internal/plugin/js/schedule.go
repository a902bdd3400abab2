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

// A task is the function of a schedule. Tasks belong to the owner of the engine.
type task struct {
	extension *extension
	schedule  *plugin.Schedule
	function  engine.Value
}

// slotPlan is how the slot reaches the function of a schedule.
var slotPlan = sync.OnceValues(func() (*plan, error) {
	t := reflect.TypeFor[time.Time]()
	c, err := codecOf(t)
	return &plan{types: []reflect.Type{t}, params: []codec{c}}, err
})

var errNoExtension = errors.New("app.schedule must be called by a hook or a function of an extension, because the plugin has several extensions: the schedule follows the life of one")

// schedule is app.schedule: name, times, whether one node runs it, and the function. It returns the number of the task and
// the name.
func (m *module) schedule(_ engine.Value, args []engine.Value) (engine.Value, error) {
	if err := m.loadedOnly("app.schedule"); err != nil {
		return engine.Undefined, err
	}
	var x *extension
	if c := m.current.Load(); c != nil && c.extension != nil {
		x = c.extension
	} else if len(m.extensions) == 1 {
		x = m.extensions[0]
	} else {
		return engine.Undefined, errNoExtension
	}
	leaderOnly, _ := engine.AsBool(args[2])
	s, err := plugin.NewSchedule(m.text(args[0]), m.text(args[1]), leaderOnly)
	if err != nil {
		return engine.Undefined, err
	}
	if err := x.schedules.Add(s); err != nil {
		return engine.Undefined, err
	}
	m.nextTask++
	m.tasks[m.nextTask] = &task{extension: x, schedule: s, function: m.engine.Dup(args[3])}
	return m.value(m.t.anyToJS([]any{float64(m.nextTask), s.Name}))
}

// unschedule ends a schedule by the number of its task, and reports whether it was there.
func (m *module) unschedule(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(args[0])
	t := m.tasks[int(id)]
	if t != nil {
		m.dropTasks(func(other *task) bool { return other == t })
	}
	return engine.Bool(t != nil), nil
}

// dropTasks ends schedules.
func (m *module) dropTasks(which func(*task) bool) {
	for id, t := range m.tasks {
		if which(t) {
			t.extension.schedules.Keep(func(s *plugin.Schedule) bool { return s != t.schedule })
			m.engine.Free(t.function)
			delete(m.tasks, id)
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

// taskOf returns the function of a schedule of an extension, which the caller must free, and reports whether there is one.
func (m *module) taskOf(x *extension, name string) (engine.Value, bool) {
	for _, t := range m.tasks {
		if t.extension == x && t.schedule.Name == name {
			return m.engine.Dup(t.function), true
		}
	}
	return engine.Undefined, false
}

var _ plugin.Scheduler = (*extension)(nil)
