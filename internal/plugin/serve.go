// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/role"
)

// An EndpointRequest is a request in the form for the handler of an endpoint.
type EndpointRequest struct {
	// Query has the parameters in the query and the path, Body the body; nil means none. Both are
	// validated, with defaults filled in. Numbers are json.Number.
	Query map[string]any
	Body  any
	// AdminID is the requester.
	AdminID *int64
	// IP is the caller's address, RequestID the request's id in logs and the response.
	IP, RequestID string
}

// An EndpointOutput receives the response of an endpoint with a content type.
type EndpointOutput interface {
	// Write sends a part of the response and waits until the caller accepts it, which does not
	// count towards the handler's time limit. It retains the bytes. ctx is the context of the call.
	Write(ctx context.Context, chunk []byte) error
}

// An EndpointInput is the raw input of a request.
type EndpointInput struct {
	// Path has the parameters in the path.
	Path  map[string]string
	Query map[string][]string
	Body  []byte
}

// A PublishedEndpoint is an endpoint of a loaded plugin.
type PublishedEndpoint struct {
	*Endpoint
	Plugin *Plugin
	// Down is why it cannot run now; "" if it can.
	Down string
	// Values are the values of the path parameters, if it was found by a path, which is at.
	Values map[string]string
	at     string
	member *member
}

// Path returns the path of the endpoint in the admin interface.
func (e *PublishedEndpoint) Path() string { return e.FullPath(e.Plugin.ID) }

// OperationID is the id of the operation in the OpenAPI document and in audit records.
func (e *PublishedEndpoint) OperationID() string { return e.Endpoint.OperationID(e.Plugin.ID) }

func (e *PublishedEndpoint) String() string {
	return fmt.Sprintf("the endpoint %s %s of plugin %q", e.Method, e.Endpoint.Path, e.Plugin.ID)
}

// Endpoints are the endpoints of all plugins, for the admin interface.
type Endpoints struct{ m *Manager }

// All returns the endpoints at the admin interface of a role, in the order of the plugins,
// including those of extensions that should run and cannot.
func (s *Endpoints) All(r role.Role) (list []*PublishedEndpoint) {
	for _, p := range s.m.Plugins() {
		list = append(list, p.published(r)...)
	}
	return list
}

// published returns the endpoints of a plugin at the admin interface of a role.
func (p *Plugin) published(r role.Role) (list []*PublishedEndpoint) {
	if p.released.Load() || len(p.Servers) > 0 && !slices.Contains(p.Servers, r) {
		return nil
	}
	for _, b := range p.members {
		if !b.started.Load() && !b.isDown() {
			continue
		}
		list = append(list, b.published()...)
	}
	return list
}

// published returns the endpoints of an extension, whether or not it is started.
func (m *member) published() (list []*PublishedEndpoint) {
	down := ""
	if why := m.record.down.Load(); why != nil {
		down = *why
	}
	for _, e := range m.endpoints() {
		list = append(list, &PublishedEndpoint{Endpoint: e, Plugin: m.plugin, Down: down, member: m})
	}
	return list
}

// Find returns the endpoints at an escaped path of the admin interface of a role, one for each
// method.
func (s *Endpoints) Find(r role.Role, path string) []*PublishedEndpoint {
	rest, ok := strings.CutPrefix(path, EndpointRoot)
	if !ok {
		return nil
	}
	escaped, below, _ := strings.Cut(rest, "/")
	id, err := url.PathUnescape(escaped)
	if err != nil {
		return nil
	}
	p, ok := s.m.Find(id)
	if !ok {
		return nil
	}
	var list []*PublishedEndpoint
	for _, e := range p.published(r) {
		values, ok := e.match("/" + below)
		if !ok {
			continue
		}
		e.Values, e.at = values, path
		i := slices.IndexFunc(list, func(other *PublishedEndpoint) bool { return other.Method == e.Method })
		if i < 0 {
			list = append(list, e)
		} else if len(e.Values) < len(list[i].Values) {
			list[i] = e // It is more specific.
		}
	}
	return list
}

// Read validates the input of a request. params are the parameters for audit records.
func (e *Endpoint) Read(in EndpointInput) (r *EndpointRequest, params map[string]any, err error) {
	r, params = &EndpointRequest{Query: map[string]any{}}, map[string]any{}
	var problems []string
	if e.Query != nil {
		given, twice := in.parameters()
		r.Query = e.Query.readQuery(given)
		e.Query.fill(r.Query)
		problems = append(twice, e.Query.problems(r.Query, "query")...)
		if shown, ok := e.Query.masked(r.Query).(map[string]any); ok {
			params = shown
		}
	}
	if e.Body != nil {
		if r.Body, err = readJSON(in.Body); err != nil {
			return nil, params, apierr.New(apierr.IllegalArgument, "the body is not JSON")
		}
		e.Body.fill(r.Body)
		problems = append(problems, e.Body.problems(r.Body, "body")...)
		params["body"] = e.Body.masked(r.Body)
	}
	if len(problems) > 0 {
		return nil, params, apierr.New(apierr.IllegalArgument, "%s", strings.Join(problems, "; "))
	}
	return r, params, nil
}

// An EndpointAnswer is the response of an endpoint.
type EndpointAnswer struct {
	// Data is the JSON of the result, nil if there is none or the endpoint has a content type.
	Data json.RawMessage
	// Content is the response of an endpoint with a content type. The caller must close it. If the
	// handler fails after the first bytes, reading fails.
	Content io.ReadCloser
}

// Serve calls an endpoint with the input of a request. If the plugin is replaced meanwhile, its
// successor is called, which validates the input again. Errors are *apierr.Error.
func (s *Endpoints) Serve(ctx context.Context, r role.Role, e *PublishedEndpoint, in EndpointInput, request *EndpointRequest) (*EndpointAnswer, error) {
	ctx = InRole(ctx, r)
	ctx = ForAdminRequest(ctx, request.AdminID, request.RequestID, e.OperationID())
	for {
		a, err := s.serve(ctx, e, request)
		if !errors.Is(err, errRetired) {
			return a, err
		}
		list := s.Find(r, e.at)
		i := slices.IndexFunc(list, func(other *PublishedEndpoint) bool { return other.Method == e.Method && other.member != e.member })
		if i < 0 {
			return nil, apierr.New(apierr.ResourceNotFound, "%s is gone", e)
		}
		next := list[i]
		if next.Permission != e.Permission {
			return nil, apierr.New(apierr.ServerUnavailable, "%s has just got another permission: try again", e)
		}
		in.Path = next.Values
		again, _, err := next.Read(in)
		if err != nil {
			return nil, err
		}
		again.AdminID, again.IP, again.RequestID = request.AdminID, request.IP, request.RequestID
		e, request = next, again
	}
}

// bounds returns the limits of a request.
func (s *Endpoints) bounds(e *Endpoint) (b bounds, maxBytes int64) {
	settings := s.m.opts.Settings()
	b = bounds{time: e.Timeout, calls: int64(settings.Limits.ConcurrentCalls)}
	if b.time == 0 {
		b.time = time.Duration(settings.Endpoints.TimeoutMillis) * time.Millisecond
	}
	return b, settings.Endpoints.MaxAnswerBytes
}

func (s *Endpoints) serve(ctx context.Context, e *PublishedEndpoint, request *EndpointRequest) (*EndpointAnswer, error) {
	b, maxBytes := s.bounds(e.Endpoint)
	if e.ContentType != "" {
		return s.serveContent(ctx, e, request, b, maxBytes)
	}
	t := s.m.Calls.tracer.endpoint(ctx, e)
	data, value, err := e.answer(t.begin(ctx, e.member), request, b, maxBytes)
	if t != nil {
		if e.Result != nil {
			value = e.Result.masked(value)
		}
		t.asked(e.member, data != nil, err, value)
		t.end()
	}
	if err != nil {
		return nil, s.failed(ctx, e, err)
	}
	return &EndpointAnswer{Data: data}, nil
}

// answer calls the handler and validates its result, as JSON and as the decoded value; nil means
// none.
func (e *PublishedEndpoint) answer(ctx context.Context, request *EndpointRequest, b bounds, maxBytes int64) (data json.RawMessage, value any, err error) {
	answered, err := e.member.call(ctx, ServeEndpoint, b, []any{e.Endpoint, request, EndpointOutput(nil)}, &data)
	switch {
	case err != nil || !answered:
		return nil, nil, err
	case int64(len(data)) > maxBytes:
		return nil, nil, fmt.Errorf("the answer has %d bytes, more than app.plugin.endpoints.max-answer-bytes allows", len(data))
	}
	if value, err = readJSON(data); err != nil {
		return nil, nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	if e.Result != nil {
		if problems := e.Result.problems(value, "result"); problems != nil {
			return nil, nil, fmt.Errorf("the answer breaks its schema: %s", strings.Join(problems, "; "))
		}
	}
	return data, value, nil
}

// failed returns the error for the caller of an endpoint whose call failed. The reason is logged.
func (s *Endpoints) failed(ctx context.Context, e *PublishedEndpoint, err error) error {
	if errors.Is(err, errRetired) {
		return err
	}
	if refusal, ok := errors.AsType[*apierr.Error](err); ok {
		return refusal // The plugin refused; that is no failure.
	}
	if down, ok := errors.AsType[*UnavailableError](err); ok {
		return &apierr.Error{Code: apierr.ServerUnavailable, Reason: fmt.Sprintf("%s cannot run at present: %s", e, firstLine(down.Reason)), Err: err}
	}
	if _, ok := errors.AsType[*CrowdedError](err); ok {
		return &apierr.Error{Code: apierr.ServerUnavailable, Reason: fmt.Sprintf("%s has too many requests at present: try again later", e), Err: err}
	}
	if ctx.Err() == nil {
		e.member.logger.WarnContext(ctx, "an endpoint failed", "endpoint", e.Method+" "+e.Endpoint.Path, "error", err)
	}
	if late, ok := errors.AsType[*TimeoutError](err); ok {
		return &apierr.Error{Code: apierr.ServerUnavailable, Status: http.StatusGatewayTimeout, Reason: fmt.Sprintf("%s %v", e, late), Err: err}
	}
	if errors.Is(err, ErrDead) {
		return &apierr.Error{Code: apierr.ServerUnavailable, Reason: fmt.Sprintf("%s cannot run at present: the plugin died and is loaded anew", e), Err: err}
	}
	if errors.Is(err, ErrInterrupted) {
		return &apierr.Error{Code: apierr.ServerUnavailable, Reason: fmt.Sprintf("%s was interrupted: what runs the plugin ended and is started anew", e), Err: err}
	}
	return &apierr.Error{Code: apierr.ServerInternalError, Reason: fmt.Sprintf("%s failed: the log says why", e), Err: fmt.Errorf("%s: %w", e, err)}
}

// firstLine returns a reason without a following stack trace.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line)
}

// errTooLong means that the response was truncated.
var errTooLong = errors.New("the answer has more bytes than app.plugin.endpoints.max-answer-bytes allows")

// serveContent begins a response with a content type. It returns at the first bytes, so that
// earlier failures get an envelope.
func (s *Endpoints) serveContent(ctx context.Context, e *PublishedEndpoint, request *EndpointRequest, b bounds, maxBytes int64) (*EndpointAnswer, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &content{chunks: make(chan []byte), done: make(chan struct{}), cancel: cancel}
	c.left.Store(maxBytes)
	s.m.tellers.Go(func() {
		defer close(c.done)
		t := s.m.Calls.tracer.endpoint(ctx, e)
		defer t.end()
		_, err := e.member.call(t.begin(ctx, e.member), ServeEndpoint, b, []any{e.Endpoint, request, EndpointOutput(c)}, nil)
		if t != nil {
			t.asked(e.member, true, err, nil)
		}
		if err != nil {
			c.err = s.failed(ctx, e, err)
		}
	})
	select {
	case c.rest = <-c.chunks:
	case <-c.done:
		if c.err != nil {
			cancel()
			return nil, c.err
		}
	}
	return &EndpointAnswer{Content: c}, nil
}

// content passes the response of an endpoint from the handler, which writes, to the caller, who
// reads.
type content struct {
	chunks chan []byte
	// done is closed when the handler has ended; err is set then.
	done   chan struct{}
	err    error
	cancel context.CancelFunc
	// rest is the unread data. left is how much more may be written.
	rest []byte
	left atomic.Int64
}

// Write implements EndpointOutput. A call of a handler writes chunks sequentially.
func (c *content) Write(ctx context.Context, chunk []byte) error {
	if len(chunk) == 0 {
		return nil
	}
	if c.left.Add(-int64(len(chunk))) < 0 {
		return errTooLong
	}
	if clock := HeldOf(ctx); clock != nil {
		defer clock.Hold()()
	}
	select {
	case c.chunks <- chunk:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.done:
		return errors.New("the request is over")
	}
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		select {
		case c.rest = <-c.chunks:
		case <-c.done:
			if c.err != nil {
				return 0, c.err
			}
			return 0, io.EOF
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Close ends the call if it is running.
func (c *content) Close() error {
	c.cancel()
	<-c.done
	return nil
}

var (
	_ EndpointOutput = (*content)(nil)
	_ io.ReadCloser  = (*content)(nil)
)
