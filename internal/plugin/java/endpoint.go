// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.org/app/internal/plugin"
)

// hookEndpoint is the protocol number of an endpoint request.
const hookEndpoint = 6

// Endpoints returns the endpoints of the extension.
func (x *extension) Endpoints() []*plugin.Endpoint { return x.endpoints }

// endpointRequest is the JSON form of an endpoint request.
type endpointRequest struct {
	Query     map[string]any `json:"query"`
	Body      any            `json:"body,omitempty"`
	AdminID   *int64         `json:"adminId,omitempty"`
	IP        string         `json:"ip"`
	RequestID string         `json:"requestId"`
}

// serveEndpoint calls the handler of an endpoint.
func (x *extension) serveEndpoint(ctx context.Context, args []any, result any) (bool, error) {
	e, r := args[0].(*plugin.Endpoint), args[1].(*plugin.EndpointRequest)
	output, _ := args[2].(plugin.EndpointOutput)
	request, err := json.Marshal(endpointRequest{r.Query, r.Body, r.AdminID, r.IP, r.RequestID})
	if err != nil {
		return false, fmt.Errorf("write the request: %w", err)
	}
	a, err := x.hookCall(ctx, hookEndpoint, output, func(body []byte) []byte {
		return appendBool(appendBytes(appendString(body, e.Handler), request), output != nil)
	})
	if err != nil {
		return false, err
	}
	defer a.free()
	in := &in{b: *a.body}
	answered := in.bool()
	if data, wanted := result.(*json.RawMessage); answered && wanted {
		*data = in.bytes()
	}
	if in.err != nil {
		return false, fmt.Errorf("read the answer of %s of %s: %w", e.Handler, x.class, in.err)
	}
	return answered, nil
}

// write sends a part of an endpoint's response.
func (q *question) write() error {
	chunk := q.rest.bytes()
	if err := q.rest.end(); err != nil {
		return err
	}
	ctx, output := q.session.conn.outputOf(q.call, q.m)
	if ctx == nil {
		return errors.New("the request is over")
	}
	if output == nil {
		return errors.New("the endpoint declares no content type")
	}
	return output.Write(ctx, chunk)
}

var _ plugin.Endpointed = (*extension)(nil)
