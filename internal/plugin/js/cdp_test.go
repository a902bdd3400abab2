// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/inspector"
)

// patience is how long a test waits for what must come.
const patience = 2 * time.Minute

// debugHost is a host in debug mode.
func debugHost(t *testing.T) (*Host, *inspector.Server, *logged) {
	t.Helper()
	return debugHostWith(t, Options{})
}

func debugHostWith(t *testing.T, opts Options) (*Host, *inspector.Server, *logged) {
	t.Helper()
	s, err := inspector.Listen(t.Context(), inspector.Options{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	opts.Inspector = s
	h, log := newHost(t, opts)
	return h, s, log
}

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v in %s", url, err, data)
	}
}

// A cdp is a debugger.
type cdp struct {
	t    *testing.T
	conn *websocket.Conn
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	next    int
	answers map[int]chan map[string]any
	events  []map[string]any
	changed chan struct{}
}

// object is JSON.
type object = map[string]any

func attach(t *testing.T, address string) *cdp {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(64 << 20)
	c := &cdp{t: t, conn: conn, done: make(chan struct{}), answers: map[int]chan map[string]any{}, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	go func() {
		defer close(c.done)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			m := object{}
			if err := json.Unmarshal(data, &m); err != nil {
				t.Error(err)
				return
			}
			c.mu.Lock()
			if id, ok := m["id"].(float64); ok {
				c.answers[int(id)] <- m
			} else {
				c.events = append(c.events, m)
				close(c.changed)
				c.changed = make(chan struct{})
			}
			c.mu.Unlock()
		}
	}()
	t.Cleanup(c.detach)
	return c
}

func (c *cdp) detach() {
	c.conn.Close(websocket.StatusNormalClosure, "")
	c.stop()
	<-c.done
}

// try sends a request.
func (c *cdp) try(method string, params object) (object, error) {
	c.t.Helper()
	c.mu.Lock()
	c.next++
	id, answer := c.next, make(chan map[string]any, 1)
	c.answers[id] = answer
	c.mu.Unlock()
	data, _ := json.Marshal(object{"id": id, "method": method, "params": params})
	if err := c.conn.Write(context.Background(), websocket.MessageText, data); err != nil {
		c.t.Fatal(err)
	}
	select {
	case m := <-answer:
		if e, ok := m["error"].(object); ok {
			return nil, fmt.Errorf("%s: %v", method, e["message"])
		}
		return m["result"].(object), nil
	case <-c.done:
		return nil, fmt.Errorf("%s: the connection has ended", method)
	case <-time.After(patience):
		c.t.Fatalf("%s is not answered", method)
		return nil, nil
	}
}

func (c *cdp) do(method string, params object) object {
	c.t.Helper()
	r, err := c.try(method, params)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// wait takes the next event of a method.
func (c *cdp) wait(method string) object {
	c.t.Helper()
	limit := time.After(patience)
	for {
		c.mu.Lock()
		for i, e := range c.events {
			if e["method"] == method {
				c.events = append(c.events[:i], c.events[i+1:]...)
				c.mu.Unlock()
				return e["params"].(object)
			}
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-limit:
			c.t.Fatalf("no event %s", method)
		}
	}
}

// A stop is a pause.
type stop struct {
	c      *cdp
	reason string
	frames []any
	params object
}

func (c *cdp) paused() stop {
	c.t.Helper()
	p := c.wait("Debugger.paused")
	return stop{c, p["reason"].(string), p["callFrames"].([]any), p}
}

func (s stop) frame(i int) object { return s.frames[i].(object) }

// at is the function and the line, counted from 1, of a call.
func (s stop) at(i int) string {
	f := s.frame(i)
	return fmt.Sprintf("%s:%v", f["functionName"], f["location"].(object)["lineNumber"].(float64)+1)
}

func (s stop) want(at string) stop {
	s.c.t.Helper()
	if got := s.at(0); got != at {
		s.c.t.Fatalf("paused at %s, not at %s", got, at)
	}
	return s
}

// eval evaluates in a call.
func (s stop) eval(i int, expression string) any {
	s.c.t.Helper()
	r := s.c.do("Debugger.evaluateOnCallFrame", object{"callFrameId": s.frame(i)["callFrameId"], "expression": expression, "returnByValue": true})
	if x := r["exceptionDetails"]; x != nil {
		return fmt.Sprint(x.(object)["exception"].(object)["description"])
	}
	return r["result"].(object)["value"]
}

// scope returns the variables of a kind of scope in a call.
func (s stop) scope(i int, kind string) object {
	s.c.t.Helper()
	for _, x := range s.frame(i)["scopeChain"].([]any) {
		if sc := x.(object); sc["type"] == kind {
			return s.c.properties(sc["object"].(object)["objectId"].(string), "result")
		}
	}
	s.c.t.Fatalf("no scope %s in %v", kind, s.frame(i)["scopeChain"])
	return nil
}

// properties returns the descriptions of an object's properties.
func (c *cdp) properties(id, list string) object {
	c.t.Helper()
	r := object{}
	for _, p := range c.do("Runtime.getProperties", object{"objectId": id, "ownProperties": true})[list].([]any) {
		if v, ok := p.(object)["value"].(object); ok {
			r[p.(object)["name"].(string)] = v
			if x, ok := v["value"]; ok {
				r[p.(object)["name"].(string)] = x
			}
		}
	}
	return r
}

// enable does what debuggers do when they have attached, and returns the script.
func (c *cdp) enable() object {
	c.t.Helper()
	c.do("Runtime.enable", nil)
	c.do("Debugger.enable", nil)
	return c.wait("Debugger.scriptParsed")
}

func (c *cdp) breakAt(url string, line int, condition string) string {
	c.t.Helper()
	r := c.do("Debugger.setBreakpointByUrl", object{"url": url, "lineNumber": line - 1, "columnNumber": 0, "condition": condition})
	if len(r["locations"].([]any)) != 1 {
		c.t.Fatalf("breakpoint at line %d: %v", line, r)
	}
	return r["breakpointId"].(string)
}

// A result is the end of a call.
type result struct {
	value any
	err   error
}

// begin calls a function in the background.
func begin[T any](ctx context.Context, m *module, method *plugin.Method, args ...any) <-chan result {
	done := make(chan result, 1)
	go func() {
		var v T
		_, err := m.extensions[0].Call(ctx, method, args, &v)
		done <- result{v, err}
	}()
	return done
}

func finish(t *testing.T, done <-chan result) any {
	t.Helper()
	select {
	case r := <-done:
		if r.err != nil {
			t.Fatal(r.err)
		}
		return r.value
	case <-time.After(patience):
		t.Fatal("the call does not end")
		return nil
	}
}
