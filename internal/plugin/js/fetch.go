// SPDX-License-Identifier: Apache-2.0

package js

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/telemetry"
)

// A response is the response to a plugin's request.
type response struct {
	status     int
	statusText string
	url        string
	redirected bool
	headers    [][2]string
	body       []byte
	// stream is set instead of body if the plugin reads the body incrementally.
	stream *stream
}

// A request is a plugin's HTTP request.
type request struct {
	url, method string
	headers     [][2]string
	body        []byte
	timeout     time.Duration
	// waited is the part of the timeout that has passed.
	waited   time.Duration
	redirect string
	// stream requests incremental reading of the body, events of an endless one.
	stream, events bool
	// trace is the context of the request's call for tracing; nil means none.
	trace context.Context
}

// network contains the network functions of a plugin: fetch, streams and WebSockets.
type network struct {
	m *module
	// aborts are the cancel functions of the plugin's requests by id.
	aborts map[float64]context.CancelFunc
	// streams are the responses that the plugin reads incrementally, by request id; sockets are its
	// WebSockets.
	streams map[float64]*stream
	sockets map[float64]*socket
}

// errAborted means that the plugin aborted a request. The plugin sees its own reason.
var errAborted = errors.New("the request was aborted")

// abortFetch cancels a request, or the stream of its response, by id. It may have ended.
func (n *network) abortFetch(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(argument(args, 0))
	if abort := n.aborts[id]; abort != nil {
		delete(n.aborts, id)
		delete(n.streams, id)
		abort()
	}
	return engine.Undefined, nil
}

// fetch sends a request: URL, method, headers, body, timeout in milliseconds, redirect mode, an id
// for aborting it, and whether the body is read incrementally.
func (n *network) fetch(_ engine.Value, args []engine.Value) (engine.Value, error) {
	r := request{url: n.m.t.text(args[0]), method: n.m.t.text(args[1]), redirect: n.m.t.text(args[5]), events: true}
	ms, _ := engine.AsNumber(args[4])
	r.timeout = time.Duration(min(ms, 1<<31) * float64(time.Millisecond))
	r.stream, _ = engine.AsBool(argument(args, 7))
	var err error
	if r.headers, err = n.m.t.pairs(args[2]); err != nil {
		return engine.Undefined, err
	}
	if !engine.IsUndefined(args[3]) {
		r.body = n.m.t.content(args[3])
	}
	id, _ := engine.AsNumber(argument(args, 6))
	if n.aborts == nil {
		n.aborts = map[float64]context.CancelFunc{}
	}
	if c := n.m.turns.current.Load(); c != nil && telemetry.On() {
		r.trace = c.ctx
	}
	aborted, abort := context.WithCancel(context.Background())
	n.aborts[id] = abort
	op, promise, err := n.m.operations.begin()
	if err != nil {
		abort()
		delete(n.aborts, id)
		return promise, err
	}
	ended := func(res *response, err error) func() (engine.Value, error) {
		return func() (engine.Value, error) {
			delete(n.aborts, id)
			if err != nil {
				return engine.Undefined, fmt.Errorf("fetch %s %s: %w", r.method, shorten(r.url), err)
			}
			return n.responseValue(res), nil
		}
	}
	client, t, begin := n.client(), &turn{gate: &n.m.gates.fetches, owner: op.owner}, time.Now()
	late := time.AfterFunc(r.timeout, func() { t.withdraw(r.late()) })
	stay := context.AfterFunc(aborted, func() { t.withdraw(errAborted) })
	t.start = func() {
		late.Stop()
		stay()
		n.m.operations.perform(op, func(ctx context.Context) (func() (engine.Value, error), error) {
			defer t.leave()
			ctx, cancel := context.WithCancelCause(ctx)
			stop := context.AfterFunc(aborted, func() { cancel(errAborted) })
			res, err := n.sendWhenFree(ctx, client, r, begin)
			if err == nil && res.stream != nil {
				return func() (engine.Value, error) { return n.streamedValue(id, res) }, nil
			}
			stop()
			cancel(nil)
			return ended(res, err), nil
		})
	}
	t.end = func(why error) {
		late.Stop()
		stay()
		op.value = ended(nil, why)
		n.m.operations.settleLater(op)
	}
	n.m.operations.lineUp(t)
	if time.Since(begin) >= r.timeout {
		t.withdraw(r.late()) // The timer may have found nothing to withdraw.
	}
	return promise, nil
}

// sendWhenFree sends a request, whose timeout began at begin, once it may connect to its host.
func (n *network) sendWhenFree(ctx context.Context, client *http.Client, r request, begin time.Time) (*response, error) {
	wait, cancel := context.WithDeadlineCause(ctx, begin.Add(r.timeout), r.late())
	defer cancel()
	connected, err := n.m.gates.connect(wait, hostOf(r.url))
	if err != nil {
		return nil, err
	}
	defer connected()
	r.waited = time.Since(begin)
	return n.m.host.send(tellConnected(ctx, connected), client, r)
}

// late returns the time-out error of a request.
func (r *request) late() error { return fmt.Errorf("no answer within %s", r.timeout) }

// hostOf returns the host of a URL with its port, if any.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func (n *network) responseValue(res *response) engine.Value {
	e := n.m.engine
	headers := make([]any, 0, len(res.headers))
	for _, h := range res.headers {
		headers = append(headers, []any{h[0], h[1]})
	}
	v := n.m.t.anyToJS(map[string]any{
		"status": int32(res.status), "statusText": res.statusText, "url": res.url, "redirected": res.redirected, "headers": headers,
	})
	if engine.IsFailed(v) {
		return v
	}
	if res.stream != nil {
		return v
	}
	if body := e.Bytes(res.body); engine.IsFailed(body) || !e.DefineName(v, "body", body) {
		e.Free(v)
		return engine.Failed
	}
	return v
}

// maxRedirects is the maximum number of redirects of a request.
const maxRedirects = 10

// send sends a request and reads the response, completely unless it is a stream.
func (h *Host) send(ctx context.Context, by *http.Client, r request) (_ *response, err error) {
	u, err := url.Parse(r.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL must be absolute and begin with http:// or https://")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(r.timeout-r.waited, func() { cancel(r.late()) })
	var streamed bool
	defer func() {
		if !streamed {
			late.Stop()
			cancel(nil)
		}
	}()
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return nil, err
	}
	for _, kv := range r.headers {
		if strings.EqualFold(kv[0], "Host") {
			req.Host = kv[1]
			continue
		}
		req.Header.Add(kv[0], kv[1])
	}
	if r.trace != nil {
		telemetry.Inject(r.trace, req.Header)
	}
	client := *by
	client.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
		switch {
		case r.redirect == "manual":
			return http.ErrUseLastResponse
		case r.redirect == "error":
			return errors.New("the answer is a redirect")
		case len(via) >= maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		return nil
	}
	res, err := client.Do(req) //nolint:bodyclose // A stream is closed by who reads it.
	if err != nil {
		return nil, reason(ctx, err)
	}
	out := &response{
		status: res.StatusCode, statusText: http.StatusText(res.StatusCode), url: res.Request.URL.String(),
		redirected: res.Request.URL.String() != u.String(),
	}
	streamed = r.stream || r.events && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	if streamed {
		out.stream = &stream{ctx: ctx, body: res.Body, timeout: r.timeout, late: late}
	} else if out.body, err = h.readAll(ctx, res.Body); err != nil {
		return nil, err
	}
	for k, list := range res.Header {
		out.headers = append(out.headers, [2]string{strings.ToLower(k), strings.Join(list, ", ")})
	}
	return out, nil
}

// readAll reads the whole body of a response.
func (h *Host) readAll(ctx context.Context, body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, h.opts.ResponseLimit+1))
	if err != nil {
		return nil, reason(ctx, err)
	}
	if int64(len(data)) > h.opts.ResponseLimit {
		return nil, fmt.Errorf("the answer is longer than %d bytes", h.opts.ResponseLimit)
	}
	return data, nil
}

// reason returns why a request failed, without what the caller of fetch knows.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
