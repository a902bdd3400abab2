// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"example.org/app/internal/recording/jfr"
)

// cpuProfile takes CPU profiles one after another. It is not safe for concurrent use.
type cpuProfile struct {
	buffer  bytes.Buffer
	since   time.Time
	running bool
	// failed is true if another CPU profile is running; it is logged once.
	failed bool
}

// start begins a profile. Only one can run in a process.
func (c *cpuProfile) start(now time.Time) error {
	c.buffer.Reset()
	if err := pprof.StartCPUProfile(&c.buffer); err != nil {
		return fmt.Errorf("start the CPU profile: %w", err)
	}
	c.since, c.running = now, true
	return nil
}

// stop ends the profile and returns its samples. It takes up to a tenth of a second.
func (c *cpuProfile) stop() (*profile.Profile, error) {
	if !c.running {
		return nil, nil
	}
	c.running = false
	pprof.StopCPUProfile()
	return profile.ParseData(c.buffer.Bytes())
}

// frames converts stacks of profiles to frames, and caches the names.
type frames struct {
	names map[string]jfr.Frame
	stack []jfr.Frame
}

// maxNames is the maximum number of cached names; fewer functions of a program occur in profiles.
const maxNames = 20_000

// of returns the frames of a sample. They are valid until the next call.
func (f *frames) of(locations []*profile.Location) []jfr.Frame {
	f.stack = f.stack[:0]
	for _, l := range locations {
		for _, line := range l.Line {
			if line.Function == nil {
				continue
			}
			if len(f.stack) == 0 && strings.HasPrefix(line.Function.Name, "runtime.asyncPreempt") {
				continue // The scheduler interrupted the function below, whose time it is.
			}
			frame := f.name(line.Function.Name)
			frame.Line = int(line.Line)
			f.stack = append(f.stack, frame)
		}
	}
	return f.stack
}

func (f *frames) name(function string) jfr.Frame {
	if frame, ok := f.names[function]; ok {
		return frame
	}
	if f.names == nil || len(f.names) >= maxNames {
		f.names = map[string]jfr.Frame{}
	}
	class, method := splitName(function)
	frame := jfr.Frame{Class: class, Method: method}
	f.names[function] = frame
	return frame
}

// splitName splits the name of a Go function into class and method: the class is the package with
// the receiver, if there is one.
func splitName(function string) (class, method string) {
	// Type arguments may contain slashes and dots.
	if i, j := strings.IndexByte(function, '['), strings.LastIndexByte(function, ']'); i >= 0 && j > i {
		function = function[:i] + function[j+1:]
	}
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return "go", function
	}
	class, method = function[:slash+dot], function[slash+dot+1:]
	class = strings.ReplaceAll(class, ".", "_")
	if rest, ok := strings.CutPrefix(method, "(*"); ok {
		if receiver, name, ok := strings.Cut(rest, ")."); ok {
			return class + "/" + receiver, name
		}
	}
	if receiver, name, ok := strings.Cut(method, "."); ok && !isClosure(name) {
		return class + "/" + receiver, name
	}
	return class, method
}

// isClosure reports whether a part of a name is that of a function inside a function, such as
// func1.
func isClosure(name string) bool {
	for _, prefix := range []string{"func", "gowrap", "deferwrap"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return name != "" && name[0] >= '0' && name[0] <= '9'
}

// delta remembers the values of a cumulative profile at the last check.
type delta struct {
	name string
	// seen is by stack.
	seen map[string][2]int64
}

// change calls visit for each stack whose values grew since the last check. The first check only
// initialises.
func (d *delta) change(index [2]string, visit func(locations []*profile.Location, grown [2]int64)) error {
	var b bytes.Buffer
	if err := pprof.Lookup(d.name).WriteTo(&b, 0); err != nil {
		return fmt.Errorf("write the %s profile: %w", d.name, err)
	}
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		return fmt.Errorf("parse the %s profile: %w", d.name, err)
	}
	var at [2]int
	for i, t := range p.SampleType {
		for j, name := range index {
			if t.Type == name {
				at[j] = i
			}
		}
	}
	first := d.seen == nil
	next := make(map[string][2]int64, len(p.Sample))
	var key []byte
	for _, s := range p.Sample {
		key = key[:0]
		for _, l := range s.Location {
			key = fmt.Appendf(key, "%x,", l.Address)
		}
		values := [2]int64{s.Value[at[0]], s.Value[at[1]]}
		before := d.seen[string(key)]
		sum := next[string(key)]
		next[string(key)] = [2]int64{sum[0] + values[0], sum[1] + values[1]}
		if grown := [2]int64{values[0] - before[0], values[1] - before[1]}; !first && grown[0] > 0 {
			visit(s.Location, grown)
		}
	}
	d.seen = next
	return nil
}
