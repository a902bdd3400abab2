// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"fmt"
	"strings"
	"sync"

	"example.org/app/internal/plugin/js/engine"
)

// A Coverage counts how often the statements of scripts run, without a debugger. Several engines
// may use it concurrently; their counts are added up.
type Coverage struct {
	instrumenter instrumenter
	// adding is held while a script is added; mu is not, so that others can continue.
	adding sync.Mutex

	mu sync.Mutex
	// counts are the executions of statements by the numbers of their probes; scripts are
	// identified by their code.
	counts  []int
	scripts map[coveredCode]*Covered
}

type coveredCode struct {
	file, code string
	module     bool
}

// Covered is a script whose statements are counted.
type Covered struct {
	// File is the caller's name of the script.
	File string
	// Code is the instrumented code. Line numbers are unchanged.
	Code       string
	first      int
	statements []Statement
	lines      []string
}

// A Statement is the start of a statement. Lines and columns count from 1.
type Statement struct{ Line, Column int }

// NewCoverage returns an empty coverage. The caller must close it.
func NewCoverage() *Coverage { return &Coverage{scripts: map[coveredCode]*Covered{}} }

// Close frees what the coverage needs to add scripts. The counts stay valid.
func (c *Coverage) Close() { c.instrumenter.close() }

// Add instruments a script. Adding the same script again returns the same Covered.
func (c *Coverage) Add(file, code string, module bool) (*Covered, error) {
	c.adding.Lock()
	defer c.adding.Unlock()
	key := coveredCode{file, code, module}
	c.mu.Lock()
	known, first := c.scripts[key], len(c.counts)
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	r, err := c.instrumenter.instrument(code, module, first)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &Covered{File: file, Code: r.Code, first: first, lines: strings.Split(r.Code, "\n")}
	for _, p := range r.Probes {
		s.statements = append(s.statements, Statement{p.Line + 1, p.Column + 1})
	}
	c.counts = append(c.counts, make([]int, len(r.Probes))...)
	c.scripts[key] = s
	return s, nil
}

// Install adds the functions that instrumented scripts call to an engine.
func (c *Coverage) Install(e *engine.Engine) error {
	global := e.Global()
	defer e.Free(global)
	for name, f := range map[string]engine.Func{
		probeName: func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			if id, ok := engine.AsNumber(args[0]); ok {
				c.count(int(id))
			}
			return engine.Undefined, nil
		},
		catchName: func(_ engine.Value, args []engine.Value) (engine.Value, error) { return e.Dup(args[0]), nil },
		leaveName: func(engine.Value, []engine.Value) (engine.Value, error) { return engine.Undefined, nil },
	} {
		if !e.DefineName(global, name, e.Function(name, 2, f)) {
			x := e.Exception()
			defer e.Free(x.Value)
			return fmt.Errorf("prepare for coverage: %s", x.Message)
		}
	}
	return nil
}

func (c *Coverage) count(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id >= 0 && id < len(c.counts) {
		c.counts[id]++
	}
}

// Each calls visit for each statement of each script with its count.
func (c *Coverage) Each(visit func(s *Covered, at Statement, count int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scripts {
		for i, at := range s.statements {
			visit(s, at, c.counts[s.first+i])
		}
	}
}

// Column converts a column of the instrumented code to that of the script, both counted from 1.
func (s *Covered) Column(line, col int) int {
	if line < 1 || line > len(s.lines) {
		return col
	}
	return column(s.lines[line-1], col)
}
