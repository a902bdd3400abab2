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
)

// A response is what a request of a plugin got.
type response struct {
	status     int
	statusText string
	url        string
	redirected bool
	headers    [][2]string
	body       []byte
}

// A request is what a plugin asks for.
type request struct {
	url, method string
	headers     [][2]string
	body        []byte
	timeout     time.Duration
	redirect    string
}

// errAborted is the end of a request that the plugin does not want any more. It sees the reason that it gave itself.
var errAborted = errors.New("the request was aborted")

// abortFetch ends a request by its id. It may have ended.
func (m *module) abortFetch(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(argument(args, 0))
	if abort := m.aborts[id]; abort != nil {
		delete(m.aborts, id)
		abort()
	}
	return engine.Undefined, nil
}

// fetch sends a request: URL, method, headers, body, timeout in milliseconds, what to do with redirects, and an id above 0 for
// one that can be aborted.
func (m *module) fetch(_ engine.Value, args []engine.Value) (engine.Value, error) {
	r := request{url: m.text(args[0]), method: m.text(args[1]), redirect: m.text(args[5])}
	ms, _ := engine.AsNumber(args[4])
	r.timeout = time.Duration(min(ms, 1<<31) * float64(time.Millisecond))
	pairs, err := m.t.anyFromJS(args[2])
	if err != nil {
		return engine.Undefined, err
	}
	list, _ := pairs.([]any)
	for _, p := range list {
		if kv, _ := p.([]any); len(kv) == 2 {
			r.headers = append(r.headers, [2]string{fmt.Sprint(kv[0]), fmt.Sprint(kv[1])})
		}
	}
	if !engine.IsUndefined(args[3]) {
		r.body = m.content(args[3])
	}
	aborted, abort := context.WithCancel(context.Background())
	if id, _ := engine.AsNumber(argument(args, 6)); id > 0 {
		if m.aborts == nil {
			m.aborts = map[float64]context.CancelFunc{}
		}
		m.aborts[id] = abort
	}
	return m.async(func(ctx context.Context) (func() (engine.Value, error), error) {
		defer abort()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(aborted, func() { cancel(errAborted) })()
		res, err := m.host.send(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("fetch %s %s: %w", r.method, shorten(r.url), err)
		}
		return func() (engine.Value, error) { return m.responseValue(res), nil }, nil
	})
}

// content is a string or what a buffer holds.
func (m *module) content(v engine.Value) []byte {
	if b, ok := m.engine.AsBytes(v); ok {
		return b
	}
	return []byte(m.text(v))
}

func (m *module) responseValue(res *response) engine.Value {
	e := m.engine
	headers := make([]any, 0, len(res.headers))
	for _, h := range res.headers {
		headers = append(headers, []any{h[0], h[1]})
	}
	v := m.t.anyToJS(map[string]any{
		"status": int32(res.status), "statusText": res.statusText, "url": res.url, "redirected": res.redirected, "headers": headers,
	})
	if engine.IsFailed(v) {
		return v
	}
	if body := e.Bytes(res.body); engine.IsFailed(body) || !e.DefineName(v, "body", body) {
		e.Free(v)
		return engine.Failed
	}
	return v
}

// maxRedirects is how many redirects a request follows.
const maxRedirects = 10

// send sends a request and reads the answer.
func (h *Host) send(ctx context.Context, r request) (*response, error) {
	u, err := url.Parse(r.url)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the URL must be absolute and begin with http:// or https://")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no answer within %s", r.timeout))
	defer cancel()
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
	client := *h.opts.HTTP
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
	res, err := client.Do(req)
	if err != nil {
		return nil, reason(ctx, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, h.opts.ResponseLimit+1))
	if err != nil {
		return nil, reason(ctx, err)
	}
	if int64(len(data)) > h.opts.ResponseLimit {
		return nil, fmt.Errorf("the answer is longer than %d bytes", h.opts.ResponseLimit)
	}
	out := &response{
		status: res.StatusCode, statusText: http.StatusText(res.StatusCode), url: res.Request.URL.String(),
		redirected: res.Request.URL.String() != u.String(), body: data,
	}
	for k, list := range res.Header {
		out.headers = append(out.headers, [2]string{strings.ToLower(k), strings.Join(list, ", ")})
	}
	return out, nil
}

// reason is why a request failed, without what the caller of fetch knows already.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
