// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/apierr"
)

// DynamicOperations are operations that are added and removed at run time.
type DynamicOperations interface {
	// At returns the operations at an escaped path, one for each method.
	At(path string) []*Operation
	// All returns the operations for the OpenAPI document, in order.
	All() []*Operation
}

// A Dynamic replaces Go types in an operation that is declared at run time.
type Dynamic struct {
	// Query, Body and Result are JSON Schemas; nil means none. The properties of Query are the
	// parameters: a path parameter if the path has the name in braces as a segment, else a query
	// parameter.
	Query, Body, Result map[string]any
	// ContentType is the content type of responses without envelope; "" means an envelope.
	ContentType string
	// Version changes with everything in the operation's description.
	Version string
	// Read validates the input. params are the parameters for audit records, also if there is an
	// error.
	Read func(query map[string][]string, body []byte) (in any, params map[string]any, err error)
	// Run handles the result of Read and returns a *Content if there is a content type, else JSON;
	// nil means no result.
	Run func(ctx context.Context, in any, by Caller) (any, error)
}

// A Caller describes the sender of a request for a dynamic operation, in addition to the Requester.
type Caller struct {
	Remote    netip.Addr
	RequestID string
}

// noInput is the input of operations that read theirs themselves.
var noInput = &input{}

// HandleDynamic completes the declaration of an operation that is added while the server runs. It
// has to be Privileged.
func HandleDynamic(op Operation, d Dynamic) *Operation {
	op.dynamic, op.input = &d, func() *input { return noInput }
	return &op
}

// at returns the operations at an escaped path by their methods.
func (a *API) at(path string) map[string]*Operation {
	if methods := a.routes[path]; methods != nil || a.opts.Dynamic == nil {
		return methods
	}
	var methods map[string]*Operation
	for _, op := range a.opts.Dynamic.At(path) {
		if methods == nil {
			methods = map[string]*Operation{}
		}
		methods[op.Method] = op
	}
	return methods
}

// serveDynamic reads the input of a dynamic operation and runs it.
func (c *call) serveDynamic() (any, error) {
	d := c.op.dynamic
	q, err := ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	query := map[string][]string{}
	for name, p := range q {
		if len(p.objects) > 0 {
			return nil, illegal("parameter %q: must not be an object", clip(name))
		}
		query[name] = p.values
	}
	var body []byte
	if d.Body != nil {
		if body, err = c.dynamicBody(); err != nil {
			return nil, err
		}
	}
	in, params, err := d.Read(query, body)
	if len(params) > 0 {
		c.params = params
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(c.r.Context())
	c.cancel = cancel
	if d.ContentType != "" {
		stop := context.AfterFunc(c.api.streams, cancel)
		c.cancel = func() { stop(); cancel() }
	}
	result, err := d.Run(c.beginTrail(WithRequester(ctx, c.principal)), in, Caller{Remote: c.remote, RequestID: c.requestID})
	if data, ok := result.(json.RawMessage); ok && data == nil || result == nil {
		return Done{}, err
	}
	return result, err
}

// dynamicBody reads the body of a request for a dynamic operation.
func (c *call) dynamicBody() ([]byte, error) {
	limit := c.settings.MaxBodyBytes
	if c.r.ContentLength > limit {
		return nil, c.refuseBody(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, c.refuseBody(limit)
	}
	if err != nil {
		return nil, illegal("the body could not be read to its end")
	}
	return bytes.TrimSpace(body), nil
}

// contentPolicy allows a plugin's page to run scripts, but with an opaque origin, so that it can
// use neither the browser's credentials for this server nor its storage.
const contentPolicy = "sandbox allow-scripts allow-popups allow-downloads"

// sendContent streams a response.
func (c *call) sendContent(content *Content, rc *http.ResponseController) error {
	defer content.Body.Close()
	h := c.w.Header()
	h.Set("Content-Type", content.ContentType)
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(c.status)
	block := make([]byte, 64<<10)
	for {
		n, err := content.Body.Read(block)
		if n > 0 {
			rc.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := c.w.Write(block[:n]); err != nil {
				return fmt.Errorf("send the answer: %w", err)
			}
			if err := rc.Flush(); err != nil {
				return fmt.Errorf("send the answer: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			c.cut = true
			e := apierr.From(err)
			c.code = e.Code
			if c.r.Context().Err() == nil {
				c.api.opts.Logger.Error("an answer was cut off", "requestId", c.requestID, "path", clip(c.r.URL.Path), "error", err)
			}
			return fmt.Errorf("read the answer: %w", err)
		}
	}
}

// unchanged sends 304 if the caller has the version already, and reports whether it did.
func (c *call) unchanged(version string) bool {
	tag := strconv.Quote(version)
	c.w.Header().Set("ETag", tag)
	c.w.Header().Set("Cache-Control", "no-cache")
	for known := range strings.SplitSeq(c.r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimSpace(known); known == "*" || strings.TrimPrefix(known, "W/") == tag {
			c.status = http.StatusNotModified
			c.w.WriteHeader(c.status)
			return true
		}
	}
	return false
}
