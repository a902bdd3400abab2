// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"
)

// A session is an attached debugger.
type session struct {
	target *Target
	conn   *websocket.Conn
	out    chan []byte
	ctx    context.Context
	cancel context.CancelFunc
	// domains are the event domains that the debugger has enabled; the lock of the target guards
	// them.
	domains domain
	// compiled are the scripts that the debugger has compiled.
	compiled []string
}

// A domain is a set of event domains.
type domain int

const (
	debuggerDomain domain = 1 << iota
	runtimeDomain
)

// maxOut is the maximum number of queued messages for a debugger; one that does not read them is
// disconnected.
const maxOut = 4096

func newSession(t *Target, conn *websocket.Conn) *session {
	s := &session{target: t, conn: conn, out: make(chan []byte, maxOut)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// run serves the debugger until it disconnects or the target closes.
func (s *session) run() {
	s.target.join(s)
	var helpers sync.WaitGroup
	helpers.Go(func() {
		for {
			select {
			case data := <-s.out:
				if s.conn.Write(s.ctx, websocket.MessageText, data) != nil {
					s.cancel()
					return
				}
			case <-s.ctx.Done():
				return
			}
		}
	})
	defer func() {
		s.cancel()
		helpers.Wait()
		s.target.leave(s)
	}()
	helpers.Go(func() {
		// A closing target notifies the debugger while the reader below waits for it.
		select {
		case <-s.target.done:
			s.cancel()
		case <-s.ctx.Done():
		}
	})
	for {
		_, data, err := s.conn.Read(s.ctx)
		if err != nil {
			return
		}
		s.receive(data)
	}
}

// A message is a request.
type message struct {
	ID     int64           `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type protocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *protocolError) Error() string { return e.Message }

func invalid(name string, err error) error {
	return &protocolError{-32602, fmt.Sprintf("Invalid parameters: %s: %v", name, err)}
}

func (s *session) receive(data []byte) {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		s.reply(0, nil, &protocolError{-32700, "Message must be a valid JSON"})
		return
	}
	c, ok := commands[m.Method]
	if !ok {
		s.reply(m.ID, nil, &protocolError{-32601, fmt.Sprintf("'%s' wasn't found", m.Method)})
		return
	}
	if len(m.Params) == 0 {
		m.Params = json.RawMessage("{}")
	}
	run := func() {
		r, err := c.run(s, m.Params)
		if later, ok := r.(deferral); ok {
			later(func(r any, err error) { s.reply(m.ID, r, err) })
			return
		}
		s.reply(m.ID, r, err)
	}
	if c.engine {
		s.target.tasks.add(run)
	} else {
		run()
	}
}

func (s *session) reply(id int64, result any, err error) {
	r := map[string]any{"id": id}
	if err != nil {
		pe := &protocolError{Code: -32000, Message: err.Error()}
		errors.As(err, &pe)
		r["error"] = pe
	} else {
		if result == nil {
			result = struct{}{}
		}
		r["result"] = result
	}
	s.write(r)
}

func (s *session) event(method string, params any) {
	s.write(map[string]any{"method": method, "params": params})
}

func (s *session) write(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		s.cancel()
		return
	}
	select {
	case s.out <- data:
	default:
		s.cancel()
	}
}

// A command is a method of the protocol.
type command struct {
	// engine is true if the command needs the engine.
	engine bool
	run    func(*session, json.RawMessage) (any, error)
}

func plain[P any](f func(*session, P) (any, error)) command { return command{false, decoding(f)} }

func onEngine[P any](f func(*session, P) (any, error)) command { return command{true, decoding(f)} }

func decoding[P any](f func(*session, P) (any, error)) func(*session, json.RawMessage) (any, error) {
	return func(s *session, data json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(data, &p); err != nil {
			return nil, invalid("params", err)
		}
		return f(s, p)
	}
}

type nothing struct{}

// accept accepts settings without effect.
func accept(*session, nothing) (any, error) { return nil, nil }

var commands map[string]command

// The table refers to functions that send events through it, so it is filled in init.
func init() {
	commands = map[string]command{
		"Debugger.enable":                 plain((*session).enableDebugger),
		"Debugger.disable":                plain((*session).disableDebugger),
		"Debugger.getScriptSource":        plain((*session).getScriptSource),
		"Debugger.searchInContent":        plain((*session).searchInContent),
		"Debugger.getPossibleBreakpoints": plain((*session).getPossibleBreakpoints),
		"Debugger.setBreakpointByUrl":     plain((*session).setBreakpointByURL),
		"Debugger.setBreakpoint":          plain((*session).setBreakpoint),
		"Debugger.removeBreakpoint":       plain((*session).removeBreakpoint),
		"Debugger.setBreakpointsActive":   plain((*session).setBreakpointsActive),
		"Debugger.setSkipAllPauses":       plain((*session).setSkipAllPauses),
		"Debugger.setPauseOnExceptions":   plain((*session).setPauseOnExceptions),
		"Debugger.continueToLocation":     plain((*session).continueToLocation),
		"Debugger.pause":                  plain((*session).pause),
		"Debugger.resume":                 plain((*session).resume),
		"Debugger.stepInto":               plain((*session).stepInto),
		"Debugger.stepOver":               plain((*session).stepOver),
		"Debugger.stepOut":                plain((*session).stepOut),
		"Debugger.evaluateOnCallFrame":    onEngine((*session).evaluateOnCallFrame),
		"Debugger.setVariableValue":       onEngine((*session).setVariableValue),
		"Debugger.restartFrame":           onEngine((*session).restartFrame),
		"Debugger.setAsyncCallStackDepth": plain((*session).setAsyncCallStackDepth),
		"Debugger.setBlackboxPatterns":    plain((*session).setBlackboxPatterns),
		"Profiler.enable":                 plain(accept),
		"Profiler.disable":                plain(accept),
		"Profiler.setSamplingInterval":    onEngine((*session).setSamplingInterval),
		"Profiler.start":                  onEngine((*session).startProfile),
		"Profiler.stop":                   onEngine((*session).stopProfile),
		"Profiler.startPreciseCoverage":   onEngine((*session).startCoverage),
		"Profiler.stopPreciseCoverage":    onEngine((*session).stopCoverage),
		"Profiler.takePreciseCoverage":    onEngine((*session).takeCoverage),
		"Runtime.enable":                  plain((*session).enableRuntime),
		"Runtime.disable":                 plain((*session).disableRuntime),
		"Runtime.runIfWaitingForDebugger": plain((*session).runIfWaiting),
		"Runtime.getIsolateId":            plain((*session).getIsolateID),
		"Runtime.getHeapUsage":            plain((*session).getHeapUsage),
		"Runtime.evaluate":                onEngine((*session).evaluate),
		"Runtime.callFunctionOn":          onEngine((*session).callFunctionOn),
		"Runtime.getProperties":           onEngine((*session).getProperties),
		"Runtime.releaseObject":           onEngine((*session).releaseObject),
		"Runtime.releaseObjectGroup":      onEngine((*session).releaseObjectGroup),
		"Runtime.compileScript":           onEngine((*session).compileScript),
		"Runtime.runScript":               onEngine((*session).runScript),
		"Runtime.addBinding":              onEngine((*session).addBinding),
		"Runtime.terminateExecution":      plain((*session).terminateExecution),
		"Runtime.globalLexicalScopeNames": onEngine((*session).globalLexicalScopeNames),
		"Runtime.discardConsoleEntries":   plain(accept),
		"HeapProfiler.enable":             plain(accept),
		"HeapProfiler.disable":            plain(accept),
		"HeapProfiler.collectGarbage":     onEngine((*session).collectGarbage),
		"Schema.getDomains":               plain((*session).getDomains),
	}
}
