// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// An endpointCall contains the arguments of an endpoint's handler.
type endpointCall struct {
	request *plugin.EndpointRequest
	// output receives the response; nil if it is JSON.
	output plugin.EndpointOutput
}

// Endpoints are the endpoints of the extension.
func (x *extension) Endpoints() []*plugin.Endpoint { return x.endpoints }

// readEndpoints reads the endpoints of an extension and finds their handlers.
func (ld *loading) readEndpoints(class engine.Value, x *extension) error {
	v, where, err := ld.ask(class, x.object, "getEndpoints", "an array of endpoints")
	if err != nil {
		return err
	}
	defer ld.t.Free(v)
	if !ld.t.IsArray(v) {
		return ld.m.refuse(where, "getEndpoints() of %s must return an array of endpoints, not %s", x.class, ld.t.TypeOf(v))
	}
	declared, err := ld.t.anyFromJS(v)
	if err != nil {
		return ld.m.refuse(where, "getEndpoints() of %s: %v", x.class, err)
	}
	text, err := json.Marshal(declared)
	if err == nil {
		x.endpoints, err = plugin.ParseEndpoints(text)
	}
	if err != nil {
		return ld.m.refuse(where, "getEndpoints() of %s: %v", x.class, err)
	}
	x.handlers = map[*plugin.Endpoint]method{}
	for _, e := range x.endpoints {
		f, ok, err := ld.function(class, x, e.Handler)
		if err != nil {
			return err
		}
		if !ok {
			return ld.m.refuse(where, "getEndpoints() of %s: the endpoint %s %s has the handler %s, but the class has no such function", x.class, e.Method, e.Path, e.Handler)
		}
		x.handlers[e] = method{function: f, label: x.class + "." + e.Handler + "()"}
	}
	return nil
}

// textPlan reads the result of an endpoint as JSON text.
var textPlan = &plan{result: mustCodec(reflect.TypeFor[string]())}

func mustCodec(t reflect.Type) codec {
	c, err := codecOf(t)
	if err != nil {
		panic(err)
	}
	return c
}

// serveEndpoint calls the handler of an endpoint.
func (x *extension) serveEndpoint(ctx context.Context, args []any, result any) (bool, error) {
	e, request := args[0].(*plugin.Endpoint), args[1].(*plugin.EndpointRequest)
	output, _ := args[2].(plugin.EndpointOutput)
	f, ok := x.handlers[e]
	if !ok {
		return false, errors.New("the extension does not have the endpoint")
	}
	var text string
	ok, err := x.do(&call{
		ctx: ctx, extension: x, function: f.function, plan: textPlan, label: f.label, result: &text,
		endpoint: &endpointCall{request, output},
	})
	if data, wanted := result.(*json.RawMessage); wanted && ok {
		*data = json.RawMessage(text)
	}
	return ok, err
}

// endpointArguments sets the arguments of the prelude's function that calls a handler: the handler,
// the request, and the function that sends a part of the response, if there is one.
func (cs *calls) endpointArguments(c *call, argv []engine.Value) (n int, ok bool) {
	r := c.endpoint.request
	request := map[string]any{"query": r.Query, "ip": r.IP, "requestId": r.RequestID}
	if r.Body != nil {
		request["body"] = r.Body
	}
	if r.AdminID != nil {
		request["adminId"] = *r.AdminID
	}
	argv[0], argv[1], argv[2] = cs.m.engine.Dup(c.function), cs.m.t.anyToJS(request), engine.Undefined
	if engine.IsFailed(argv[1]) {
		cs.m.engine.Free(argv[0])
		return 0, false
	}
	if c.endpoint.output != nil {
		argv[2] = cs.m.engine.Function("write", 1, cs.writeEndpoint(c))
	}
	return 3, true
}

// writeEndpoint returns a function that sends a part of a response and returns a promise for its
// acceptance by the caller.
func (cs *calls) writeEndpoint(c *call) engine.Func {
	return func(_ engine.Value, args []engine.Value) (engine.Value, error) {
		var chunk []byte
		if v := argument(args, 0); engine.IsString(v) {
			chunk = []byte(cs.m.t.text(v))
		} else if b, ok := cs.m.engine.AsBytes(v); ok {
			chunk = append(chunk, b...)
		}
		return cs.m.operations.async(func(context.Context) (func() (engine.Value, error), error) {
			return nil, c.endpoint.output.Write(c.ctx, chunk)
		})
	}
}

var _ plugin.Endpointed = (*extension)(nil)
