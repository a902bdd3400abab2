// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"fmt"
	"strings"
	"sync"

	"example.org/app/internal/plugin/js/engine"
)

// A Coverage counts how often the statements of scripts run, without a debugger. Several engines may use one at the same time;
// what they count is added up.
type Coverage struct {
	instrumenter instrumenter
	// adding is held while a script is added; mu is not, so that others go on.
	adding sync.Mutex

	mu sync.Mutex
	// counts are how often the statements ran, by the numbers of their probes; scripts are known by their code.
	counts  []int
	scripts map[coveredCode]*Covered
}

type coveredCode struct {
	file, code string
	module     bool
}

// Covered is a script that is counted.
type Covered struct {
	// File is what whoever added the script calls it.
	File string
	// Code is what runs in its place. No line moves.
	Code       string
	first      int
	statements []Statement
	lines      []string
}

// A Statement is where a statement begins. Lines and columns count from 1.
type Statement struct{ Line, Column int }

// NewCoverage makes a coverage of nothing. The caller must close it.
func NewCoverage() *Coverage { return &Coverage{scripts: map[coveredCode]*Covered{}} }

// Close frees what the coverage needs to add scripts. The counts stay.
func (c *Coverage) Close() { c.instrumenter.close() }

// Add returns a script with probes. A script that was added before is the same one.
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

// Install puts the functions that scripts with probes call into an engine.
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

// Each calls visit for each statement of each script with how often it ran.
func (c *Coverage) Each(visit func(s *Covered, at Statement, count int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.scripts {
		for i, at := range s.statements {
			visit(s, at, c.counts[s.first+i])
		}
	}
}

// Column translates a column of the code with probes to that of the script, both counted from 1.
func (s *Covered) Column(line, col int) int {
	if line < 1 || line > len(s.lines) {
		return col
	}
	return column(s.lines[line-1], col)
}
