// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"fmt"
	"regexp"
	"time"
)

// A profile is a CPU profile of the plugin. It takes a sample of the stack at the first statement
// after each interval.
type profile struct {
	begun, last time.Time
	nodes       []*profileNode
	samples     []int
	deltas      []int64
}

// A profileNode is a function that was called from the function of its parent.
type profileNode struct {
	ID        int            `json:"id"`
	CallFrame map[string]any `json:"callFrame"`
	HitCount  int            `json:"hitCount"`
	Children  []int          `json:"children,omitempty"`
	functions map[functionKey]*profileNode
}

// A functionKey identifies a function.
type functionKey struct {
	script       *script
	line, column int
}

// maxSamples limits a profile that is never stopped: some minutes with the usual interval.
const maxSamples = 1 << 18

// defaultInterval is the sampling interval if the debugger does not set it.
const defaultInterval = time.Millisecond

func newProfile(now time.Time) *profile {
	p := &profile{begun: now, last: now}
	p.add(nil, functionKey{}, map[string]any{"functionName": "(root)", "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1})
	return p
}

func (p *profile) add(parent *profileNode, key functionKey, frame map[string]any) *profileNode {
	n := &profileNode{ID: len(p.nodes) + 1, CallFrame: frame, functions: map[functionKey]*profileNode{}}
	p.nodes = append(p.nodes, n)
	if parent != nil {
		parent.functions[key] = n
		parent.Children = append(parent.Children, n.ID)
	}
	return n
}

// sample records a stack, the innermost call first.
func (p *profile) sample(stack []*entry, now time.Time) {
	if len(p.samples) >= maxSamples {
		return
	}
	n := p.nodes[0]
	for i := len(stack) - 1; i >= 0; i-- {
		at := stack[i].probe
		key := functionKey{at.script, at.FunctionLine, at.FunctionColumn}
		next := n.functions[key]
		if next == nil {
			frame := at.callFrame()
			frame["lineNumber"], frame["columnNumber"] = at.FunctionLine, at.FunctionColumn
			next = p.add(n, key, frame)
		}
		n = next
	}
	n.HitCount++
	p.samples, p.deltas = append(p.samples, n.ID), append(p.deltas, now.Sub(p.last).Microseconds())
	p.last = now
}

// takeSample records the current stack if the interval has passed.
func (p *profile) takeSample(c *calls, interval time.Duration) {
	if now := time.Now(); now.Sub(p.last) >= interval {
		p.sample(c.stack(), now)
	}
}

type samplingInterval struct{ Interval float64 }

func (s *session) setSamplingInterval(p samplingInterval) (any, error) {
	if p.Interval <= 0 {
		return nil, invalid("interval", fmt.Errorf("%g is not more than 0", p.Interval))
	}
	if s.target.profile != nil {
		return nil, &protocolError{-32000, "Cannot change sampling interval when profiling."}
	}
	s.target.interval = time.Duration(p.Interval * float64(time.Microsecond))
	return nil, nil
}

func (s *session) startProfile(nothing) (any, error) {
	t := s.target
	if t.profile == nil {
		t.profile = newProfile(time.Now())
		t.setProfiling()
	}
	return nil, nil
}

func (s *session) stopProfile(nothing) (any, error) {
	t := s.target
	p := t.profile
	if p == nil {
		return nil, &protocolError{-32000, "No recording profiles found"}
	}
	t.profile = nil
	t.setProfiling()
	return map[string]any{"profile": map[string]any{
		"nodes": p.nodes, "samples": append([]int{}, p.samples...), "timeDeltas": append([]int64{}, p.deltas...),
		"startTime": p.begun.UnixMicro(), "endTime": time.Now().UnixMicro(),
	}}, nil
}

// setProfiling activates probes if there is something to measure.
func (t *Target) setProfiling() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.profiling = t.profile != nil || t.coverage != nil
	t.refresh()
}

func (s *session) startCoverage(nothing) (any, error) {
	s.target.coverage = map[*probe]int{}
	s.target.setProfiling()
	return map[string]any{"timestamp": milliseconds()}, nil
}

func (s *session) stopCoverage(nothing) (any, error) {
	s.target.coverage = nil
	s.target.setProfiling()
	return nil, nil
}

// takeCoverage returns how often each function was called since the last takeCoverage, or since the
// start.
func (s *session) takeCoverage(nothing) (any, error) {
	t := s.target
	if t.coverage == nil {
		return nil, &protocolError{-32000, "Precise coverage has not been started."}
	}
	list := []map[string]any{}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sc := range t.scripts.list {
		functions := []map[string]any{}
		for _, p := range sc.probes {
			if len(p.Calls) > 0 {
				functions = append(functions, map[string]any{"functionName": p.Function, "isBlockCoverage": false, "ranges": []map[string]int{
					{"startOffset": p.Calls[0], "endOffset": p.Calls[1], "count": t.coverage[p]},
				}})
			}
		}
		list = append(list, map[string]any{"scriptId": sc.id, "url": sc.url, "functions": functions})
	}
	clear(t.coverage)
	return map[string]any{"result": list, "timestamp": milliseconds()}, nil
}

type blackboxPatterns struct{ Patterns []string }

// setBlackboxPatterns sets the scripts in which steps do not stop.
func (s *session) setBlackboxPatterns(p blackboxPatterns) (any, error) {
	var list []*regexp.Regexp
	for _, pattern := range p.Patterns {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, invalid("patterns", err)
		}
		list = append(list, re)
	}
	s.target.mu.Lock()
	defer s.target.mu.Unlock()
	s.target.blackbox = list
	return nil, nil
}

// A blackbox is a list of URL patterns of scripts in which steps do not stop.
type blackbox []*regexp.Regexp

func (b blackbox) has(s *script) bool {
	for _, re := range b {
		if re.MatchString(s.url) {
			return true
		}
	}
	return false
}
