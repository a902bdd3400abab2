// SPDX-License-Identifier: Apache-2.0

// Package admin is the framework of the admin interface: operation declarations, routing, rate
// limit, authentication, authorisation, reading of parameters and bodies, the response envelope,
// audit records, and the OpenAPI document. The operations themselves are in package api; this
// package knows no resource.
package admin

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/klauspost/compress/gzip"
	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/apierr"
	"example.org/app/internal/ratelimit"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/telemetry"
)

// RateLimit configures the token bucket of each remote address.
type RateLimit = ratelimit.Rule

// Settings are the settings that may change at run time.
type Settings struct {
	UseAuthentication        bool
	RateLimit                RateLimit
	IPv6ClientBits           int // prefix length of an IPv6 client; 0 means all bits
	MaxBodyBytes             int64
	Audit                    bool
	AuditParams              bool
	AllowDeleteWithoutFilter bool
	DefaultRecords           int // default size of a list
	MaxRecords               int // maximum size of a list
	// TotalBudget is how long the total of a page is counted.
	TotalBudget time.Duration
}

// Options configure an API.
type Options struct {
	Title         string // of the OpenAPI document
	Description   string // of the OpenAPI document
	Version       string
	Tags          []Tag            // the controllers that group operations
	Settings      func() *Settings // called for each request
	Authenticator Authenticator
	// LocalOnly reports whether root has the default password, so that only callers on this machine
	// are admitted. It may be nil.
	LocalOnly func() bool
	Recorders []Recorder
	// Trail records writes. It may be nil.
	Trail Trail
	// Watcher receives records regardless of the audit log's settings. It may be nil.
	Watcher Watcher
	// Observe is called with every response, for metrics. path is the operation's, or "" if none
	// matched. It may be nil.
	Observe func(method, path string, status int, took time.Duration)
	Logger  *slog.Logger
	// Translate adds business codes to errors of other packages. It may be nil.
	Translate func(error) error
	// OnReplica returns the context of operations that a database replica may serve; nil means no
	// replica.
	OnReplica func(context.Context) context.Context
	// Dynamic are operations that are added and removed at run time. It may be nil.
	Dynamic DynamicOperations
	// DocsEnabled reports whether the documentation is served; nil means always.
	DocsEnabled func() bool
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// API is the administrative interface of one role: a set of operations behind
// one http.Handler.
type API struct {
	opts     Options
	registry huma.Registry
	ops      []*Operation
	routes   map[string]map[string]*Operation // path, method
	limiter  *ratelimit.Limiter
	document func() []byte // built on first use
	full     fullDocument  // the same with the dynamic operations

	streams     context.Context
	stopStreams context.CancelFunc
}

// New builds the interface from its operations. It panics on an invalid declaration, which is a
// programming error.
func New(opts Options, ops ...*Operation) *API {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	a := &API{
		opts:     opts,
		registry: huma.NewMapRegistry("#/components/schemas/", schemaName),
		routes:   map[string]map[string]*Operation{},
		limiter:  ratelimit.New(opts.Now),
	}
	a.streams, a.stopStreams = context.WithCancel(context.Background())
	ids := map[string]bool{}
	for _, op := range append(ops, a.documentation()...) {
		op.input = sync.OnceValue(op.compile)
		op.check()
		if ids[op.ID] || a.routes[op.Path][op.Method] != nil {
			panic(fmt.Sprintf("admin: operation %q (%s %s) is declared twice", op.ID, op.Method, op.Path))
		}
		ids[op.ID] = true
		if a.routes[op.Path] == nil {
			a.routes[op.Path] = map[string]*Operation{}
		}
		a.routes[op.Path][op.Method] = op
		a.ops = append(a.ops, op)
	}
	a.document = sync.OnceValue(func() []byte {
		document, err := a.buildDocument()
		if err != nil {
			panic(fmt.Sprintf("admin: build the OpenAPI document: %v", err))
		}
		return document
	})
	return a
}

// Operations returns the declarations in the order in which they were given.
func (a *API) Operations() []*Operation { return slices.Clone(a.ops) }

// Document returns the OpenAPI 3.0 description as JSON. It panics if a declaration cannot be
// described.
func (a *API) Document() []byte { return a.document() }

// StopStreams ends endless responses, for the shutdown.
func (a *API) StopStreams() { a.stopStreams() }

// call is the state of one request.
type call struct {
	api       *API
	w         http.ResponseWriter
	r         *http.Request
	conn      *conn // nil if the request did not come through a Server
	settings  *Settings
	started   time.Time
	remote    netip.Addr
	requestID string
	op        *Operation
	principal *Principal
	params    map[string]any
	form      func() // deletes the files of a form; nil without one
	watched   bool   // whether the Watcher wants the record
	tried     string // the refused login name
	trail     endAct // ends the row of a write; nil before it begins
	unread    bool   // whether a body was refused without reading it
	cancel    func() // cancels a dynamic operation; nil without one
	cut       bool   // whether the response was truncated, which the caller must notice
	status    int
	code      apierr.Code
}

// discard deletes temporary files of the input.
func (c *call) discard() {
	if c.form != nil {
		c.form()
	}
}

// ServeHTTP implements http.Handler. The order of the steps is part of the contract, because it
// determines which error is returned.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{api: a, w: w, r: r, started: a.opts.Now(), requestID: rand.Text(), settings: a.opts.Settings(), conn: connOf(r.Context())}
	c.watched = a.opts.Watcher != nil && a.opts.Watcher.Wants()
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		c.remote = ap.Addr().Unmap().WithZone("")
	}
	h := w.Header()
	h["X-Content-Type-Options"] = noSniff
	h["X-Request-Id"] = []string{c.requestID}
	h["Access-Control-Allow-Origin"] = corsAny
	h["Access-Control-Allow-Methods"] = corsAny
	h["Access-Control-Allow-Headers"] = corsHeaders
	h["Access-Control-Max-Age"] = corsMaxAge
	if r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
		w.WriteHeader(http.StatusOK)
		return
	}
	ctx, span := telemetry.Start(telemetry.Accept(r.Context(), r.Header), "admin request", telemetry.Server)
	if id := span.Response(); id != "" {
		c.r = r.WithContext(ctx)
		h["Traceresponse"] = []string{id}
	}
	result, err := c.process()
	if c.cancel != nil {
		defer c.cancel()
	}
	c.endTrail(result, err)
	c.respond(result, err)
	c.endSpan(span)
	if c.conn != nil {
		c.conn.release(w)
	}
	if c.unread {
		c.discardBody()
	}
	if c.cut {
		panic(http.ErrAbortHandler)
	}
}

var (
	noSniff     = []string{"nosniff"}
	corsAny     = []string{"*"}
	corsHeaders = []string{"Authorization, Content-Type, *"} // Browsers do not apply * to Authorization.
	corsMaxAge  = []string{"7200"}
)

// process runs the steps of a request up to the result of the operation, or to the first error.
func (c *call) process() (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	a := c.api
	if !a.limiter.Take(ratelimit.Client(c.remote, c.settings.IPv6ClientBits), c.settings.RateLimit) {
		return nil, apierr.New(apierr.ClientRequestsTooFrequent, "")
	}
	if c.op, err = a.route(c.w, c.r); err != nil {
		return nil, err
	}
	if c.principal, err = c.authorize(); err != nil {
		return nil, err
	}
	if c.op.dynamic != nil {
		return c.serveDynamic()
	}
	in, err := c.readInput()
	defer c.discard()
	if err != nil {
		return nil, err
	}
	ctx := c.beginTrail(WithRequester(c.r.Context(), c.principal))
	if c.op.Replica && a.opts.OnReplica != nil {
		ctx = a.opts.OnReplica(ctx)
	}
	return c.op.run(ctx, in)
}

// route finds the operation. Paths are compared literally.
func (a *API) route(w http.ResponseWriter, r *http.Request) (*Operation, error) {
	path := r.URL.EscapedPath()
	methods := a.at(path)
	op := methods[r.Method]
	if op != nil && op.Enabled != nil && !op.Enabled() {
		op, methods = nil, nil
	}
	switch {
	case op != nil:
		return op, nil
	case methods == nil:
		reason := fmt.Sprintf("there is nothing at the path %q", clip(path))
		if similar := a.similar(path); similar != "" {
			reason += ": did you mean " + similar + "?"
		}
		return nil, &apierr.Error{Code: apierr.IllegalArgument, Status: http.StatusNotFound, Reason: reason}
	default:
		allowed := make([]string, 0, len(methods))
		for m := range methods {
			allowed = append(allowed, m)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return nil, &apierr.Error{
			Code: apierr.IllegalArgument, Status: http.StatusMethodNotAllowed,
			Reason: fmt.Sprintf("the path %q knows the methods %s, but not %s", clip(path), strings.Join(allowed, ", "), clip(r.Method)),
		}
	}
}

// similar returns the path with the longest common prefix with an unknown one, or "" if that is
// only the slash.
func (a *API) similar(path string) string {
	best, shared := "", 1
	for _, op := range a.ops {
		n := 0
		for n < len(path) && n < len(op.Path) && path[n] == op.Path[n] {
			n++
		}
		if n > shared && 2*n >= len(op.Path) {
			best, shared = op.Path, n
		}
	}
	return best
}

// readInput reads query and body into a new value of the input type.
func (c *call) readInput() (any, error) {
	op := c.op
	ptr := reflect.New(op.inType)
	v := ptr.Elem()
	q, err := ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	selected, err := op.input().decodeParams(q, c.r.Header, v)
	if err != nil {
		return nil, err
	}
	if op.input().body != nil {
		if err := c.readBody(v.FieldByIndex(op.input().bodyIndex)); err != nil {
			return nil, err
		}
	}
	if op.input().formIndex != nil {
		var form Form
		if form, c.form, err = c.readForm(); err != nil {
			return nil, err
		}
		v.FieldByIndex(op.input().formIndex).Set(reflect.ValueOf(form))
	}
	op.input().resolvePaging(v, c.settings)
	if c.watched || c.settings.Audit && c.settings.AuditParams || c.api.opts.Trail != nil && op.writes() {
		c.params = op.input().describe(v)
	}
	if op.Method == http.MethodDelete && !selected && !c.settings.AllowDeleteWithoutFilter {
		return nil, apierr.New(apierr.NoFilterForDeleteOperation, "")
	}
	return ptr.Interface(), nil
}

// readBody reads the JSON body, ignoring its Content-Type.
func (c *call) readBody(dst reflect.Value) error {
	limit := c.settings.MaxBodyBytes
	if c.r.ContentLength > limit {
		return c.refuseBody(limit)
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if _, err := buf.ReadFrom(http.MaxBytesReader(c.w, c.r.Body, limit)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return c.refuseBody(limit)
		}
		return illegal("the body could not be read to its end")
	}
	if !c.op.input().bodyRequired && len(bytes.TrimSpace(buf.Bytes())) == 0 {
		return nil
	}
	return c.op.input().body.decodeBody(buf.Bytes(), dst)
}

const (
	// maxDiscarded and discardTimeout bound how much of a refused body is read.
	maxDiscarded   = 64 << 20
	discardTimeout = 10 * time.Second
)

// refuseBody refuses a body that is too large. Many callers send a body to its end before they read
// the response, and would see a broken connection instead: the rest is discarded, within limits,
// after the response is sent.
func (c *call) refuseBody(limit int64) error {
	c.w.Header().Set("Connection", "close")
	// Otherwise the server would stop reading when the response begins.
	_ = http.NewResponseController(c.w).EnableFullDuplex()
	c.unread = c.r.Header.Get("Expect") == "" // A caller that waits for permission has sent nothing.
	return bodyTooLarge(limit)
}

// discardBody reads the rest of a refused body.
func (c *call) discardBody() {
	rc := http.NewResponseController(c.w)
	if rc.Flush() != nil || rc.SetReadDeadline(time.Now().Add(discardTimeout)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.r.Body, maxDiscarded)
}

// writeTimeout is how long a caller may take to accept a response, or a block of a download.
const writeTimeout = time.Minute

// respond sends the response and records the request.
func (c *call) respond(result any, err error) {
	rc := http.NewResponseController(c.w)
	rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	c.code, c.status = apierr.OK, http.StatusOK
	if err == nil {
		err = c.send(result, rc)
	} else {
		c.sendError(err)
	}
	took := c.api.opts.Now().Sub(c.started)
	path := ""
	if c.op != nil {
		path = c.op.Path
	}
	if c.api.opts.Observe != nil {
		c.api.opts.Observe(c.r.Method, path, c.status, took)
	}
	if event.Wants(event.KindAdminRequest, took) {
		c.recordEvent(path, took)
	}
	if c.settings.Audit || c.watched {
		c.record(err, took)
	}
}

// endSpan ends the span of the request. It omits undeclared paths.
func (c *call) endSpan(span telemetry.Span) {
	defer span.End()
	if !span.On() {
		return
	}
	span.Set(attribute.String("http.request.method", clip(c.r.Method)), attribute.Int("http.response.status_code", c.status),
		attribute.Int("app.code", int(c.code)), attribute.String("app.request.id", c.requestID))
	if c.op != nil {
		span.Rename(c.op.ID)
		span.Set(attribute.String("http.route", c.op.Path))
	}
	if c.principal != nil {
		span.Set(attribute.Int64("app.admin.id", c.principal.ID))
	}
	if c.status >= http.StatusInternalServerError {
		span.Fail(c.code.Name())
	}
}

// recordEvent emits the request's event for flight recordings. It omits undeclared paths.
func (c *call) recordEvent(path string, took time.Duration) {
	e := event.AdminRequest{
		Span: event.Span{Start: c.started, Duration: took}, Method: clip(c.r.Method), Path: path,
		RequestID: c.requestID, Status: c.status, Code: int32(c.code),
	}
	if c.op != nil {
		e.Operation = c.op.ID
	}
	if c.principal != nil {
		e.AdminID = c.principal.ID
	}
	event.Record(e)
}

func (c *call) record(err error, took time.Duration) {
	rec := c.newRecord(c.op)
	rec.Code, rec.Status, rec.Processing, rec.Err = c.code, c.status, took, err
	c.api.tell(c.r.Context(), rec, c.settings, c.watched)
}

// newRecord returns the record of the request so far. op may be nil.
func (c *call) newRecord(op *Operation) *Record {
	rec := &Record{
		Admin: c.principal, LoginName: c.tried, Remote: c.remote, RequestID: c.requestID, Time: c.started,
		Method: c.r.Method, Path: c.r.URL.Path, Params: c.params,
	}
	if op != nil {
		rec.Action = op.ID
	}
	return rec
}

// send sends the result of an operation. Its error is for the record; the caller has already got
// the response.
func (c *call) send(result any, rc *http.ResponseController) error {
	switch v := result.(type) {
	case Done:
		return c.sendEnvelope(nil)
	case NoContent:
		return c.sendNothing()
	case Maybe:
		if !v.Done {
			return c.sendNothing()
		}
		return c.sendEnvelope(nil)
	case optional:
		data, ok := v.get()
		if !ok {
			return c.sendNothing()
		}
		return c.sendEnvelope(data)
	case *Download:
		return c.sendDownload(v, rc)
	case *Content:
		return c.sendContent(v, rc)
	case *Raw:
		if v.Version != "" && c.unchanged(v.Version) {
			return nil
		}
		if v.Gzipped {
			return c.sendGzipped(v)
		}
		c.writeBody(v.ContentType, v.Body)
		return nil
	case Stream:
		return c.sendStream(v)
	case versioned:
		data, version := v.unwrap()
		c.w.Header().Set("ETag", strconv.Quote(version))
		return c.send(data, rc)
	case noner:
		if v.none() {
			return c.sendNothing()
		}
		return c.sendEnvelope(result)
	}
	if v := reflect.ValueOf(result); !v.IsValid() || v.Kind() == reflect.Slice && v.Len() == 0 && !c.op.EmptyIsOK {
		return c.sendNothing()
	}
	return c.sendEnvelope(result)
}

func (c *call) sendNothing() error {
	c.code, c.status = apierr.NoContent, http.StatusNoContent
	c.w.WriteHeader(c.status)
	return nil
}

func (c *call) sendEnvelope(data any) error {
	e := envelope{code: c.code, reason: c.code.Text(), data: data}
	if s, ok := data.(interface{ Outcome() (apierr.Code, string) }); ok {
		e.code, e.reason = s.Outcome()
		c.code, c.status = e.code, e.code.HTTP()
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if err := e.appendTo(buf, c.api.opts.Now()); err != nil {
		c.sendError(err)
		return err
	}
	c.writeBody(jsonType, buf.Bytes())
	return nil
}

// sendError sends an error as an envelope. Unexpected errors are logged with the request id, not
// sent.
func (c *call) sendError(err error) {
	if c.api.opts.Translate != nil {
		err = c.api.opts.Translate(err)
	}
	e := apierr.From(err)
	if c.hungUp(e) {
		e = &apierr.Error{Code: e.Code, Status: statusHungUp, Reason: "the caller hung up", Err: e}
	}
	c.code, c.status = e.Code, e.HTTP()
	if c.status == statusHungUp {
		c.api.opts.Logger.Debug("the caller of an admin request hung up", "requestId", c.requestID, "path", clip(c.r.URL.Path))
	} else if e.Code == apierr.ServerInternalError || e.Code == apierr.ServerUnavailable {
		c.api.opts.Logger.Error("admin request failed", "requestId", c.requestID, "method", c.r.Method, "path", clip(c.r.URL.Path), "error", err)
	}
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	if err := (envelope{code: e.Code, reason: e.Reason, exception: e.Exception}).appendTo(buf, c.api.opts.Now()); err != nil {
		buf.Reset()
		buf.WriteString(`{"code":1200,"reason":"internal server error"}`)
	}
	if c.status == http.StatusNoContent {
		c.w.WriteHeader(c.status)
		return
	}
	c.writeBody(jsonType, buf.Bytes())
}

// statusHungUp is the recorded status of requests whose callers disconnected before the response.
const statusHungUp = 499

// hungUp reports whether a failure is only caused by the caller's disconnection.
func (c *call) hungUp(e *apierr.Error) bool {
	return (e.Code == apierr.ServerInternalError || e.Code == apierr.ServerUnavailable) && errors.Is(c.r.Context().Err(), context.Canceled)
}

// sendGzipped sends a body that is stored compressed.
func (c *call) sendGzipped(raw *Raw) error {
	if !acceptsGzip(c.r.Header.Get("Accept-Encoding")) {
		zr, err := gzip.NewReader(bytes.NewReader(raw.Body))
		if err != nil {
			c.sendError(err)
			return err
		}
		body, err := io.ReadAll(zr)
		if err != nil {
			c.sendError(err)
			return err
		}
		c.writeBody(raw.ContentType, body)
		return nil
	}
	h := c.w.Header()
	h.Set("Content-Type", raw.ContentType)
	h.Set("Content-Encoding", "gzip")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(raw.Body)))
	c.w.WriteHeader(c.status)
	_, err := c.w.Write(raw.Body)
	return err
}

func (c *call) sendDownload(d *Download, rc *http.ResponseController) error {
	defer d.Content.Close()
	h := c.w.Header()
	h.Set("Content-Type", d.ContentType)
	h.Set("Content-Disposition", "attachment; filename="+headerName(d.Name))
	var content io.Reader = d.Content
	if d.Size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(d.Size, 10))
		content = io.LimitReader(content, d.Size)
	}
	c.w.WriteHeader(c.status)
	block := make([]byte, 64<<10)
	for {
		n, err := content.Read(block)
		if n > 0 {
			rc.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := c.w.Write(block[:n]); err != nil {
				return fmt.Errorf("send %q: %w", d.Name, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %q: %w", d.Name, err)
		}
	}
}

// headerName escapes a file name for a header.
func headerName(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '"' || r == ';' || r == '\\' || r >= 0x7f {
			return '_'
		}
		return r
	}, name)
}

func (c *call) sendStream(stream Stream) error {
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	stop := context.AfterFunc(c.api.streams, cancel)
	defer stop()
	err := stream(ctx, openEvents(c.w))
	if ctx.Err() != nil {
		return nil // The caller disconnected, or the server is stopping.
	}
	return err
}
