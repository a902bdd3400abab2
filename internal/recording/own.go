// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"
	"runtime"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr"
)

// record adds an event of a part of the server. It runs in the goroutine of that part.
func (c *collector) record(e event.Event) {
	// The settings are those of the subscription; events below their threshold may come in between.
	switch e := e.(type) {
	case event.AdminRequest:
		c.add(typeAdminRequest, e.Start, e.Duration, jfr.String(e.Operation), jfr.String(e.Method), jfr.String(e.Path),
			jfr.Int(int32(e.Status)), jfr.Int(e.Code), jfr.Long(e.AdminID), jfr.String(e.RequestID), c.stack(e.Kind()))
	case event.ClientRequest:
		c.add(typeClientRequest, e.Start, e.Duration, jfr.String(e.Request), jfr.String(e.Role), jfr.Long(e.UserID), jfr.String(e.Device),
			jfr.Long(e.RequestID), jfr.Int(e.Code), jfr.Bytes(int64(e.Bytes)), c.stack(e.Kind()))
	case event.PluginCall:
		c.add(typePluginCall, e.Start, e.Duration, jfr.String(e.Plugin), jfr.String(e.Version), jfr.String(e.Extension),
			jfr.String(e.Point), jfr.String(e.Method), jfr.String(e.Outcome), c.stack(e.Kind()))
	case event.SQLTransaction:
		c.add(typeSQLTransaction, e.Start, e.Duration, jfr.String(e.Engine), jfr.Boolean(e.Write), jfr.Int(int32(e.Statements)), jfr.Span(e.Wait),
			jfr.String(withoutValues(e.Slowest)), jfr.Span(e.SlowestTime), jfr.String(outcome(e.Error)), c.stack(e.Kind()))
	case event.NodeCall:
		c.add(typeNodeCall, e.Start, e.Duration, jfr.String(e.Call), jfr.String(e.Subject), jfr.Boolean(e.Local), jfr.String(outcome(e.Error)), c.stack(e.Kind()))
	case event.SessionOpened:
		c.add(typeSessionOpened, e.Start, e.Duration, jfr.Long(e.UserID), jfr.String(e.Device), jfr.Int(e.SessionID), jfr.Boolean(e.WebSocket))
	case event.SessionClosed:
		c.add(typeSessionClosed, e.Start, e.Duration, jfr.Long(e.UserID), jfr.String(e.Device), jfr.Int(e.SessionID), jfr.Int(e.Status))
	}
}

// outcome says how something ended, without the text of an error, which may hold what users wrote.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		return e.Code.Name()
	}
	return "error"
}

// stack returns the stack of the part that recorded the event, if the settings want it.
func (c *collector) stack(k event.Kind) jfr.Value {
	if c.stacks.Load()&(1<<k) == 0 {
		return jfr.Stack(nil)
	}
	var pcs [64]uintptr
	// Skipped are Callers, this function, record, and event.Record.
	n := runtime.Callers(4, pcs[:])
	stack := make([]jfr.Frame, 0, n)
	list := runtime.CallersFrames(pcs[:n])
	for {
		f, more := list.Next()
		if f.Function != "" {
			class, method := splitName(f.Function)
			stack = append(stack, jfr.Frame{Class: class, Method: method, Line: f.Line})
		}
		if !more {
			return jfr.Stack(stack)
		}
	}
}

// maxStatement bounds the text of a statement in an event.
const maxStatement = 1000

// withoutValues replaces the values in the text of a statement by question marks.
func withoutValues(sql string) string {
	var b strings.Builder
	for i := 0; i < len(sql) && b.Len() < maxStatement; {
		ch := sql[i]
		switch {
		case ch == '\'':
			i = endOfString(sql, i)
			b.WriteByte('?')
		case ch == '"':
			end := i + 1
			for end < len(sql) && sql[end] != '"' {
				end++
			}
			b.WriteString(sql[i:min(end+1, len(sql))])
			i = end + 1
		case ch >= '0' && ch <= '9':
			for i < len(sql) && isWord(sql[i]) {
				i++
			}
			b.WriteByte('?')
		case isWord(ch) || ch == '$':
			start := i
			for i++; i < len(sql) && isWord(sql[i]); i++ {
			}
			b.WriteString(sql[start:i])
		default:
			b.WriteByte(ch)
			i++
		}
	}
	return b.String()
}

// endOfString returns the position after a string that begins at i. A quote is doubled or escaped inside.
func endOfString(sql string, i int) int {
	for i++; i < len(sql); i++ {
		switch {
		case sql[i] == '\\' && i+1 < len(sql) && sql[i+1] == '\'':
			i++
		case sql[i] == '\'' && i+1 < len(sql) && sql[i+1] == '\'':
			i++
		case sql[i] == '\'':
			return i + 1
		}
	}
	return i
}

func isWord(ch byte) bool {
	return ch == '_' || ch == '.' || ch >= '0' && ch <= '9' || ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= 0x80
}
