// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"example.org/app/internal/plugin/js/engine"
)

var (
	//go:embed acorn/acorn.js
	parserSource string
	//go:embed instrument.js
	instrumentSource string
	//go:embed remote.js
	remoteSource string
)

// An instrumenter inserts probes into sources. For sources that only acorn parses it has its own
// engine, so that the parser does not count against the plugin's memory.
type instrumenter struct {
	mu     sync.Mutex
	engine *engine.Engine
	run    engine.Value
}

// instrumented is a source with probes.
type instrumented struct {
	Code   string   `json:"code"`
	Probes []*probe `json:"probes"`
	Scopes []*scope `json:"scopes"`
}

// A probe is a point at which the plugin can be paused: the start of a statement.
type probe struct {
	Line           int    `json:"line"`
	Column         int    `json:"column"`
	Scope          int    `json:"scope"`
	Function       string `json:"function"`
	FunctionLine   int    `json:"functionLine"`
	FunctionColumn int    `json:"functionColumn"`
	// Caught is true if the function itself catches exceptions of the statement.
	Caught   bool `json:"caught"`
	Debugger bool `json:"debugger"`
	// Calls is the start and the end of the function in its source if this is its first statement,
	// which runs once per call.
	Calls []int `json:"calls"`
	// EndLine is the last line of the statement, without the statements inside it.
	EndLine int `json:"endLine"`
	// Suspends is true if the statement awaits or yields.
	Suspends bool `json:"suspends"`
	// Again is true if its function can be restarted with the arguments that a debugger finds in a
	// call.
	Again bool `json:"again"`

	id     int
	script *script
}

// A scope declares names; Parent is -1 for the outermost.
type scope struct {
	Kind   string   `json:"kind"`
	Names  []string `json:"names"`
	Parent int      `json:"parent"`
}

// parse calls the function in instrument.js.
func (i *instrumenter) parse(source string, args ...engine.Value) (text string, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.engine == nil {
		if i.engine, err = engine.New(engine.Limits{}); err != nil {
			return "", err
		}
		if err := i.setup(); err != nil {
			i.engine.Close()
			i.engine = nil
			return "", err
		}
	}
	e := i.engine
	broken := e.Run(nil, func() {
		s := e.String(source)
		defer e.Free(s)
		v := e.Call(i.run, engine.Undefined, append([]engine.Value{s}, args...)...)
		if engine.IsFailed(v) {
			x := e.Exception()
			e.Free(x.Value)
			err = fmt.Errorf("prepare for debugging: %s", x.Message)
			return
		}
		text, _ = e.Text(v)
		e.Free(v)
	})
	if broken != nil {
		i.engine.Close()
		i.engine = nil
		return "", broken
	}
	return text, err
}

// redeclaring returns code of a console with declarations that can be repeated.
func (i *instrumenter) redeclaring(source string) string {
	text, err := i.parse(source)
	if err != nil {
		return source
	}
	return text
}

func (i *instrumenter) instrument(source string, module bool, firstProbe int) (r *instrumented, err error) {
	if strings.Contains(source, openMark) {
		return nil, errors.New("prepare for debugging: the source has a vertical tab before a form feed, which marks what is inserted")
	}
	if r, err := insertProbes(source, module, firstProbe); err == nil {
		return r, nil
	}
	return i.instrumentByAcorn(source, module, firstProbe)
}

// instrumentByAcorn is like instrument, for sources that only acorn parses.
func (i *instrumenter) instrumentByAcorn(source string, module bool, firstProbe int) (r *instrumented, err error) {
	text, err := i.parse(source, engine.Bool(module), engine.Int(int32(firstProbe)))
	if err != nil {
		return nil, err
	}
	r = &instrumented{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("prepare for debugging: %w", err)
	}
	return r, nil
}

func (i *instrumenter) setup() (err error) {
	e := i.engine
	broken := e.Run(nil, func() {
		v := e.Eval("acorn.js", parserSource)
		if engine.IsFailed(v) {
			err = fmt.Errorf("load the parser: %s", e.Exception().Message)
			return
		}
		e.Free(v)
		v = e.Eval("instrument.js", instrumentSource)
		global := e.Global()
		acorn := e.GetName(global, "acorn")
		i.run = e.Call(v, engine.Undefined, acorn)
		for _, x := range []engine.Value{v, global, acorn} {
			e.Free(x)
		}
		if engine.IsFailed(i.run) {
			err = fmt.Errorf("load the parser: %s", e.Exception().Message)
		}
	})
	if broken != nil {
		return broken
	}
	return err
}

func (i *instrumenter) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.engine != nil {
		i.engine.Free(i.run)
		i.engine.Close()
		i.engine = nil
	}
}

// insertion matches an insertion of the instrumenter.
var insertion = regexp.MustCompile(openMark + ".*?" + closeMark)

// column converts a column of the instrumented line to the original one, both counted from 1.
func column(line string, col int) int {
	at, removed := 0, 0
	for _, m := range insertion.FindAllStringIndex(line, -1) {
		begin := at + len([]rune(line[:m[0]]))
		length := len([]rune(line[m[0]:m[1]]))
		if begin >= col-1 {
			break
		}
		removed += min(length, col-1-begin)
	}
	return col - removed
}

// position matches a position in a stack trace.
var position = regexp.MustCompile(`([^\s()]+):(\d+):(\d+)`)

// scripts are a plugin's scripts and their probes, in the order of their numbers. The lock of the
// target guards them.
type scripts struct {
	mu     *sync.Mutex
	list   []*script
	probes []*probe
}

// Original converts the positions in a text, such as a stack trace, from the instrumented code to
// the original source.
func (t *Target) Original(text string) string { return t.scripts.original(text) }

// original converts the positions in a text, such as a stack trace, from the instrumented code to
// the original source.
func (s *scripts) original(text string) string {
	return position.ReplaceAllStringFunc(text, func(place string) string {
		m := position.FindStringSubmatch(place)
		line, _ := strconv.Atoi(m[2])
		col, _ := strconv.Atoi(m[3])
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, sc := range s.list {
			if sc.name == m[1] && line > 0 && line <= len(sc.lines) {
				return fmt.Sprintf("%s:%d:%d", m[1], line, column(sc.lines[line-1], col))
			}
		}
		return place
	})
}

// A script is a source of the plugin.
type script struct {
	id, name, url string
	source        string
	module        bool
	// lines are those of the instrumented code.
	lines  []string
	probes []*probe
	scopes []*scope
	// mapURL is the URL of the source map for debuggers, "" if there is none; sourceMap is the map
	// if this server serves it.
	mapURL    string
	sourceMap []byte
}

// A Script is a source of a plugin.
type Script struct {
	// Name is the name of the script in the engine, URL that for debuggers.
	Name, URL string
	// Source is for debuggers, Code is executed: the same without a source map.
	Source, Code string
	Module       bool
	// Map is the source map, nil if there is none. MapURL is where debuggers get it, "" if from
	// this server.
	Map    []byte
	MapURL string
}

// Instrument returns the instrumented code of a script, which debuggers see in its original form.
// Code that cannot be parsed is returned unchanged, so that the engine reports the error.
func (t *Target) Instrument(s Script) string {
	t.mu.Lock()
	first := len(t.scripts.probes)
	t.mu.Unlock()
	r, err := t.server.instrumenter.instrument(s.Code, s.Module, first)
	if err != nil {
		t.server.opts.Log.Warn("a script cannot be debugged", "script", s.Name, "error", err)
		return s.Code
	}
	t.mu.Lock()
	sc := &script{
		id: strconv.Itoa(len(t.scripts.list) + 1), name: s.Name, url: s.URL, source: s.Source, module: s.Module,
		lines: strings.Split(r.Code, "\n"), probes: r.Probes, scopes: r.Scopes, mapURL: s.MapURL,
	}
	if s.Map != nil && s.MapURL == "" {
		sc.sourceMap, sc.mapURL = s.Map, t.mapURL(sc)
	}
	for i, p := range r.Probes {
		p.id, p.script = first+i, sc
	}
	t.scripts.list = append(t.scripts.list, sc)
	t.scripts.probes = append(t.scripts.probes, r.Probes...)
	t.sessions.send(debuggerDomain, "Debugger.scriptParsed", sc.event())
	for _, b := range t.breakpoints {
		if l, ok := b.resolve(sc); ok {
			t.sessions.send(debuggerDomain, "Debugger.breakpointResolved", map[string]any{"breakpointId": b.id, "location": l})
		}
	}
	t.mu.Unlock()
	return r.Code
}

// Forget removes the last script: it runs without probes.
func (t *Target) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.scripts.list); n > 0 {
		t.scripts.probes = t.scripts.probes[:len(t.scripts.probes)-len(t.scripts.list[n-1].probes)]
		t.scripts.list = t.scripts.list[:n-1]
	}
}

// mapURL returns the URL of a script's source map on this server.
func (t *Target) mapURL(s *script) string {
	return (&url.URL{Scheme: "http", Host: t.server.addr, Path: "/" + t.id + mapPath + s.id}).String()
}

// mapPath is between the id of a plugin and that of a script in the path of a source map.
const mapPath = "/map/"

// sourceMap returns the source map of a script, nil if this server has none.
func (s *scripts) sourceMap(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc, err := s.script(id)
	if err != nil {
		return nil
	}
	return sc.sourceMap
}

func (s *script) event() map[string]any {
	lines := strings.Split(s.source, "\n")
	return map[string]any{
		"scriptId": s.id, "url": s.url, "startLine": 0, "startColumn": 0, "endLine": len(lines) - 1,
		"endColumn": utf16Len(lines[len(lines)-1]), "executionContextId": contextID, "hash": s.hash(), "isModule": s.module,
		"length": utf16Len(s.source), "scriptLanguage": "JavaScript", "hasSourceURL": false, "sourceMapURL": s.mapURL, "isLiveEdit": false,
	}
}
