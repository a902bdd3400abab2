// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"net/http"
	"strings"
	"time"
)

// Events sends server-sent events to one caller.
type Events struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// eventTimeout is how long a caller may take to accept one event.
const eventTimeout = 30 * time.Second

func openEvents(w http.ResponseWriter) *Events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // Disables buffering by proxies.
	w.WriteHeader(http.StatusOK)
	e := &Events{w, http.NewResponseController(w)}
	e.rc.Flush()
	return e
}

// Send sends one event. An empty name means the default kind. An error means that the caller has
// disconnected.
func (e *Events) Send(name, data string) error {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", ""), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteByte('\n')
	return e.write(b.Bytes())
}

// KeepAlive sends a comment, so that proxies and callers keep the stream open.
func (e *Events) KeepAlive() error { return e.write([]byte(": keep-alive\n\n")) }

func (e *Events) write(b []byte) error {
	e.rc.SetWriteDeadline(time.Now().Add(eventTimeout))
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	return e.rc.Flush()
}
