// SPDX-License-Identifier: Apache-2.0

package js

import (
	"fmt"
	"path"
	"strconv"
	"sync"

	"example.org/app/internal/plugin/js/inspector"
)

// A Coverage counts how often the lines of plugins run, in their authors' sources. Several hosts
// may share one.
type Coverage struct {
	counter *inspector.Coverage

	mu sync.Mutex
	// maps are the source maps of scripts.
	maps map[*inspector.Covered]*sourceMap
}

// NewCoverage returns an empty coverage. The caller must close it.
func NewCoverage() *Coverage {
	return &Coverage{counter: inspector.NewCoverage(), maps: map[*inspector.Covered]*sourceMap{}}
}

// Close frees what the coverage needs while plugins are loaded. The counts stay valid.
func (c *Coverage) Close() { c.counter.Close() }

// Lines returns how often each line with a statement ran, by file and number. A file is a
// slash-separated path relative to the host's CoverageDir.
func (c *Coverage) Lines() map[string]map[int]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Of several statements in a line the highest count is used; the counter has added up the
	// engines.
	perScript := map[*inspector.Covered]map[string]map[int]int{}
	c.counter.Each(func(s *inspector.Covered, at inspector.Statement, count int) {
		file, line := s.File, at.Line
		if m := c.maps[s]; m != nil {
			name, sourceLine, _, ok := m.source(at.Line, at.Column)
			if !ok {
				return // The bundler created it.
			}
			file, line = path.Join(path.Dir(s.File), name), sourceLine
		}
		files := perScript[s]
		if files == nil {
			files = map[string]map[int]int{}
			perScript[s] = files
		}
		if files[file] == nil {
			files[file] = map[int]int{}
		}
		files[file][line] = max(files[file][line], count)
	})
	all := map[string]map[int]int{}
	for _, files := range perScript {
		for file, lines := range files {
			if all[file] == nil {
				all[file] = map[int]int{}
			}
			for line, count := range lines {
				all[file][line] += count
			}
		}
	}
	return all
}

// cover returns the instrumented code of a script if its lines are counted. A script that cannot be
// instrumented runs unchanged.
func (ss *scripts) cover(name, code string, isModule bool) string {
	c := ss.m.host.opts.Coverage
	s, err := c.counter.Add(path.Join(ss.m.host.opts.CoverageDir, name), code, isModule)
	if err != nil {
		return code // The engine reports what is wrong with it.
	}
	if found := ss.maps[name]; found != nil && found.data != nil {
		c.mu.Lock()
		c.maps[s] = &sourceMap{data: found.data}
		c.mu.Unlock()
	}
	if ss.covered == nil {
		ss.covered = map[string]*inspector.Covered{}
	}
	ss.covered[name] = s
	return s.Code
}

// uncovered translates positions in a text from instrumented code to the script.
func (ss *scripts) uncovered(text string) string {
	if len(ss.covered) == 0 {
		return text
	}
	return place.ReplaceAllStringFunc(text, func(t string) string {
		p := place.FindStringSubmatch(t)
		s := ss.covered[p[1]]
		line, _ := strconv.Atoi(p[2])
		col, _ := strconv.Atoi(p[3])
		if s == nil {
			return t
		}
		return fmt.Sprintf("%s:%d:%d", p[1], line, s.Column(line, col))
	})
}
