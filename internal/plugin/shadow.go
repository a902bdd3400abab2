// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin/trace"
)

// The limits of a shadow. Calls that exceed the queue are not copied.
const (
	maxShadowCalls   = 8
	maxShadowWaiting = 256
)

// shadow runs copies of a plugin's calls on a candidate, after the plugin has answered them,
// compares the results and drops the candidate's. Nobody waits for it.
type shadow struct {
	manager   *Manager
	candidate *Plugin
	// ctx ends when the candidate is removed.
	ctx     context.Context
	cancel  context.CancelFunc
	waiting chan *copied

	calls, equal, different, failed, dropped atomic.Int64
	samples                                  trace.Samples
}

// ShadowCounts are the numbers of a candidate's copied calls: ended, with the same result as the
// active version, with a different one, and failed or timed out. Dropped are those that were not
// made or compared, because the queue was full, the candidate could not run, or the process of
// either version was restarted.
type ShadowCounts struct {
	Calls     int64 `json:"calls"`
	Equal     int64 `json:"equal"`
	Different int64 `json:"different"`
	Failed    int64 `json:"failed"`
	Dropped   int64 `json:"dropped"`
}

// Since returns the difference to earlier counts.
func (c ShadowCounts) Since(before ShadowCounts) ShadowCounts {
	return ShadowCounts{c.Calls - before.Calls, c.Equal - before.Equal, c.Different - before.Different, c.Failed - before.Failed, c.Dropped - before.Dropped}
}

// Plus returns the sum of two counts.
func (c ShadowCounts) Plus(other ShadowCounts) ShadowCounts {
	return ShadowCounts{c.Calls + other.Calls, c.Equal + other.Equal, c.Different + other.Different, c.Failed + other.Failed, c.Dropped + other.Dropped}
}

// newShadow starts a shadow that runs until the candidate is removed.
func (t *Trials) newShadow(candidate *Plugin) *shadow {
	s := &shadow{manager: t.m, candidate: candidate, waiting: make(chan *copied, maxShadowWaiting)}
	s.ctx, s.cancel = context.WithCancel(t.m.ctx)
	for range maxShadowCalls {
		t.m.tellers.Go(s.run)
	}
	return s
}

func (s *shadow) counts() ShadowCounts {
	return ShadowCounts{Calls: s.calls.Load(), Equal: s.equal.Load(), Different: s.different.Load(), Failed: s.failed.Load(), Dropped: s.dropped.Load()}
}

// Shadow returns the counts of a shadow; ok is false if there is none.
func (t *Trials) Shadow(id string) (counts ShadowCounts, ok bool) {
	if s := t.shadowOf(id); s != nil {
		return s.counts(), true
	}
	return ShadowCounts{}, false
}

// ShadowSamples returns calls with a different result or a failure of a shadow, the newest first,
// and the number of its version. Those of the last shadow stay until there is another one.
func (t *Trials) ShadowSamples(id string) (number int64, samples []*trace.Sample) {
	if s := t.shadowOf(id); s != nil {
		return s.number(), s.samples.List()
	}
	t.m.listMu.RLock()
	defer t.m.listMu.RUnlock()
	past := t.pastShadows[id]
	return past.number, past.samples
}

// pastShadow is the rest of an ended shadow.
type pastShadow struct {
	number  int64
	samples []*trace.Sample
}

// number returns the number of the candidate's version; 0 if it is not of the cluster.
func (s *shadow) number() int64 {
	if shared := s.candidate.Shared(); shared != nil {
		return shared.Number
	}
	return 0
}

// remember keeps the samples of an ending shadow, and drops those of removed plugins. m.listMu is
// held.
func (t *Trials) remember(id string, s *shadow) {
	t.pastShadows[id] = pastShadow{s.number(), s.samples.List()}
	for id := range t.pastShadows {
		if !slices.ContainsFunc(t.m.list, func(p *Plugin) bool { return p.ID == id }) {
			delete(t.pastShadows, id)
		}
	}
}

// shadowOf returns the shadow of a plugin, or nil.
func (t *Trials) shadowOf(id string) *shadow {
	t.m.listMu.RLock()
	defer t.m.listMu.RUnlock()
	if s := t.splits[id]; s != nil {
		return s.shadow
	}
	return nil
}

// copied is a copy of a call.
type copied struct {
	ctx    context.Context // for the call of the candidate
	method *Method
	start  time.Time
	args   []any
	active trace.Answer
}

// run makes queued calls sequentially.
func (s *shadow) run() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case c := <-s.waiting:
			s.try(c)
		}
	}
}

// offer queues a call, unless the queue is full. The call is copied only if there is space.
func (s *shadow) offer(copyCall func() *copied) {
	if len(s.waiting) < cap(s.waiting) {
		select {
		case s.waiting <- copyCall():
			return
		default: // The queue is full.
		}
	}
	s.dropped.Add(1)
}

// contextOf returns the context for a copy of a call. It contains only for whom the call is made:
// the request, its transaction and its trace end without the candidate.
func (s *shadow) contextOf(ctx context.Context) context.Context {
	own := SameBehalf(s.ctx, ctx)
	if r := ctx.Value(roleKey{}); r != nil {
		own = context.WithValue(own, roleKey{}, r)
	}
	return own
}

// try makes a call and compares the results.
func (s *shadow) try(c *copied) {
	begin := time.Now()
	value, answered, err := s.pass(c)
	switch {
	case errors.Is(err, context.Canceled):
		return // The candidate is being removed.
	case errors.Is(err, errRetired), errors.Is(err, ErrInterrupted):
		s.dropped.Add(1)
		return
	}
	pair := &trace.Pair{
		Start: c.start, Values: c.args, Replaces: c.method.Mode == Pipeline, Secret: c.method.Result == mapType, Active: c.active,
		Candidate: newAnswer(s.candidate.Version, time.Since(begin), value, answered, err),
		Subject:   trace.Subject{Point: c.method.Point.Name, Method: c.method.Name, Role: RoleOf(c.ctx, c.method.Point)},
	}
	behalfOf(c.ctx).tell(&pair.Subject)
	for _, p := range c.method.Params {
		pair.Names = append(pair.Names, p.Name)
	}
	// The sample is stored before the count.
	count := &s.different
	switch outcome := pair.Candidate.Outcome; {
	case outcome == trace.Failed, outcome == trace.TimedOut:
		count = &s.failed
	case pair.Equal():
		count = &s.equal
	}
	if count != &s.equal {
		s.samples.Keep(s.manager.Calls.tracer.traces.Sample(pair))
	}
	count.Add(1)
	s.calls.Add(1)
}

// pass calls the candidate's extensions like the plugin's. For a pipeline the final value is
// compared, not the answers.
func (s *shadow) pass(c *copied) (value any, answered bool, err error) {
	bounds := s.manager.Calls.boundsOf(c.method)
	args := c.args
	if c.method.Mode == Pipeline {
		value = args[0]
	}
	for _, b := range s.candidate.members {
		if !slices.Contains(b.Points(), c.method.Point) || !b.takesPart(c.method) {
			continue
		}
		var result any
		if c.method.Result != nil {
			result = reflect.New(c.method.Result).Interface()
		}
		ok, err := b.call(c.ctx, c.method, bounds, args, result)
		if err != nil {
			return nil, false, err
		}
		if ok && result != nil {
			value, answered = reflect.ValueOf(result).Elem().Interface(), true
		}
		switch c.method.Mode {
		case Pipeline:
			args = append([]any{value}, args[1:]...)
		case FirstAnswer:
			if answered {
				return value, true, nil
			}
		case Only:
			return value, answered, nil
		case Simultaneous, Repeated:
		}
	}
	return value, answered && c.method.Mode != Pipeline, nil
}

// newAnswer returns the result of a call by a version of a plugin.
func newAnswer(version string, took time.Duration, value any, answered bool, err error) trace.Answer {
	a := trace.Answer{Version: version, Duration: took, Outcome: trace.Unchanged}
	switch {
	case err != nil:
		a.Outcome, a.Reason = tracedOutcomes[outcomeOf(err)], err.Error()
		if e, ok := errors.AsType[*apierr.Error](err); ok {
			a.Code, a.Reason = int32(e.Code), e.Reason
		}
		return a
	case answered:
		a.Outcome = trace.Answered
	}
	a.Value = value
	return a
}

// mirror copies one call to the shadows of the plugins that it passes. The zero value copies
// nothing.
type mirror struct {
	ctx    context.Context
	method *Method
	// split is the split of the current plugin; nil if no shadow gets a copy.
	split *split
	// version is the plugin's version; "" if only the candidate implements the method.
	version string
	start   time.Time
	args    []any
	err     error
}

// A passage returns the arguments for the next extension and the results of the call so far.
type passage func() (args []any, answer any, answered bool)

// enter records that the call reaches an extension of a plugin with a shadow.
func (c *mirror) enter(b seat, concerned subject, now passage) {
	s := b.split
	if c.split == s {
		return
	}
	if s.Percentage < 100 {
		if id, ok := concerned(); !ok || !s.takes(id) {
			return
		}
	}
	args, _, _ := now()
	c.split, c.version, c.start, c.args, c.err = s, "", time.Now(), args, nil
	if !b.candidate {
		c.version = b.plugin.Version
	}
}

// fail records that an extension failed. The first failure of a plugin counts.
func (c *mirror) fail(err error) {
	switch {
	case errors.Is(err, errRetired):
		c.split = nil // The call continues elsewhere.
	case c.err == nil:
		c.err = err
	}
}

// leave offers the call to the shadow of the plugin that it has passed, if any.
func (c *mirror) leave(now passage) {
	if c.split == nil {
		return
	}
	s, took := c.split.shadow, time.Since(c.start)
	c.split = nil
	if errors.Is(c.err, ErrInterrupted) {
		s.dropped.Add(1) // There is nothing to compare with.
		return
	}
	s.offer(func() *copied {
		_, value, answered := now()
		return &copied{
			ctx: s.contextOf(c.ctx), method: c.method, start: c.start, args: duplicateAll(c.args),
			active: newAnswer(c.version, took, duplicate(value), answered, c.err),
		}
	})
}

// tellShadow offers a call of observers to a shadow, without waiting for the plugin's result.
func tellShadow(ctx context.Context, s *split, method *Method, args []any) {
	if method == HandleDomainEvents {
		return // Events are only delivered to the plugin.
	}
	if s.Percentage < 100 {
		d := division{method: method, all: args}
		if d.divide(s); d.candidate == nil {
			return
		}
		args = d.candidate
	}
	s.shadow.offer(func() *copied {
		return &copied{ctx: s.shadow.contextOf(ctx), method: method, start: time.Now(), args: duplicateAll(args)}
	})
}

// duplicateAll deep-copies values.
func duplicateAll(values []any) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = duplicate(v)
	}
	return list
}

// duplicate deep-copies a value, because the server may change its own after the call.
func duplicate(v any) any {
	if v == nil {
		return nil
	}
	return duplicateOf(reflect.ValueOf(v)).Interface()
}

func duplicateOf(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		if m, ok := v.Interface().(proto.Message); ok {
			return reflect.ValueOf(proto.Clone(m))
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(duplicateOf(v.Elem()))
		return p
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return duplicateOf(v.Elem())
	case reflect.Struct:
		s := reflect.New(v.Type()).Elem()
		s.Set(v) // with unexported fields, such as those of time.Time
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.Field(i).Set(duplicateOf(v.Field(i)))
			}
		}
		return s
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		if k := v.Type().Elem().Kind(); k <= reflect.Complex128 || k == reflect.String {
			reflect.Copy(s, v)
			return s
		}
		for i := range v.Len() {
			s.Index(i).Set(duplicateOf(v.Index(i)))
		}
		return s
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		m := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			m.SetMapIndex(key, duplicateOf(value))
		}
		return m
	}
	return v
}
