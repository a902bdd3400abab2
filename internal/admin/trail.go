// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"net/http"
	"reflect"

	"example.org/app/internal/apierr"
)

// A Trail stores a row for each write.
type Trail interface {
	// Begin is called when the input of a write operation was read, or the operation was refused
	// before. Changes made with the returned context are stored together with its row; rec has no
	// outcome yet. end is called once, before the response is sent.
	Begin(ctx context.Context, rec *Record) (work context.Context, end func(ctx context.Context, code apierr.Code, status int, reason string))
}

// writes reports whether an operation may change something.
func (op *Operation) writes() bool {
	return op.Method != http.MethodGet && op.Method != http.MethodHead
}

// endAct ends the row of a write with its outcome.
type endAct func(ctx context.Context, code apierr.Code, status int, err error)

// beginAct begins the row of a write.
func (a *API) beginAct(ctx context.Context, rec *Record) (context.Context, endAct) {
	if a.opts.Trail == nil {
		return ctx, func(context.Context, apierr.Code, int, error) {}
	}
	work, end := a.opts.Trail.Begin(ctx, rec)
	return work, func(ctx context.Context, code apierr.Code, status int, err error) {
		reason := ""
		if err != nil {
			reason = apierr.From(err).Reason
		}
		end(ctx, code, status, reason)
	}
}

// beginTrail begins the row of the request, whose input is read.
func (c *call) beginTrail(ctx context.Context) context.Context {
	if c.api.opts.Trail == nil || !c.op.writes() {
		return ctx
	}
	ctx, c.trail = c.api.beginAct(ctx, c.newRecord(c.op))
	return ctx
}

// endTrail ends the row of the request, if it is one that writes.
func (c *call) endTrail(result any, err error) {
	if c.api.opts.Trail == nil {
		return
	}
	op := c.op
	if op == nil { // It was refused before routing.
		op = c.api.at(c.r.URL.EscapedPath())[c.r.Method]
	}
	if op == nil || !op.writes() {
		return
	}
	if c.trail == nil {
		rec := c.newRecord(op)
		if rec.Params == nil && c.op != nil {
			rec.Params = c.queryParams()
		}
		_, c.trail = c.api.beginAct(c.r.Context(), rec)
	}
	code, status := apierr.OK, http.StatusOK
	if s, ok := result.(interface{ Outcome() (apierr.Code, string) }); ok && err == nil {
		code, _ = s.Outcome()
		status = code.HTTP()
	}
	if err != nil {
		if c.api.opts.Translate != nil {
			err = c.api.opts.Translate(err)
		}
		e := apierr.From(err)
		code, status, err = e.Code, e.HTTP(), e
	}
	c.trail(c.r.Context(), code, status, err)
}

// queryParams returns the parameters of a request that was refused before they were read, as far as
// possible.
func (c *call) queryParams() map[string]any {
	if c.op.dynamic != nil {
		return nil
	}
	q, err := ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil
	}
	v := reflect.New(c.op.inType).Elem()
	if _, err := c.op.input().decodeParams(q, c.r.Header, v); err != nil {
		return nil
	}
	return c.op.input().describe(v)
}
