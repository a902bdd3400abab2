// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/apierr"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/role"
	"example.org/app/internal/sleep"
	"example.org/app/internal/telemetry"
)

// retryPause is the delay before the second attempt of a request that no node took: a node that has
// just become active may still be subscribing.
const retryPause = 20 * time.Millisecond

// lostPause is the delay between attempts to find a node for a request whose node stopped
// answering.
const lostPause = 100 * time.Millisecond

// namePattern is the rule for the names of endpoints and topics, which become parts of subjects.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)

// An Endpoint is a kind of call, declared once and used by both sides.
//
// Requests and responses are read only: after handing one over, neither side may modify it. Within
// one process both sides share the value without a copy.
type Endpoint[Req, Resp any] struct {
	// Name is unique among the endpoints of a role: words of letters, digits, "_" and "-" with dots
	// between them.
	Name string
	// Role is the role whose nodes handle the call. Empty means that calls go only to named nodes,
	// of any role.
	Role role.Role
	// Codec encodes the values; nil means JSON.
	Codec Codec
	// Direct makes a caller in the same process run the handler in its own goroutine, which is
	// cheaper. Handlers must return soon after their context ends, because the caller cannot
	// abandon them.
	Direct bool
}

func (e Endpoint[Req, Resp]) codec() Codec {
	if e.Codec == nil {
		return JSON
	}
	return e.Codec
}

func (c *Cluster) roleSubject(r role.Role, name string) string {
	return c.prefix + "call." + string(r) + "." + name
}

func (c *Cluster) nodeSubject(id, name string) string { return c.prefix + "node." + id + "." + name }

// Handle registers fn as the handler of the endpoint on this node. Each call runs in its own
// goroutine, with a context that ends at the caller's deadline. An *apierr.Error reaches the caller
// with code, status and reason; any other error, or a panic, reaches it as an internal error
// without details and is logged here.
func Handle[Req, Resp any](n *Node, e Endpoint[Req, Resp], fn func(ctx context.Context, req *Req) (*Resp, error)) error {
	return HandleInOrder(n, e, func(req *Req) func(context.Context) (*Resp, error) {
		return func(ctx context.Context) (*Resp, error) { return fn(ctx, req) }
	})
}

// HandleInOrder is Handle for handlers that depend on the order of requests. arrive is called for
// each request, in the order in which one caller sent them, before any later request is answered.
// It must return soon, because others wait for it. The function that it returns answers the request
// and is always called.
func HandleInOrder[Req, Resp any](n *Node, e Endpoint[Req, Resp], arrive func(req *Req) (answer func(context.Context) (*Resp, error))) error {
	if !namePattern.MatchString(e.Name) {
		return fmt.Errorf("handle endpoint %q: the name must be words of letters, digits, \"_\" and \"-\" with dots between them", e.Name)
	}
	if e.Role != "" && e.Role != n.options.Type {
		return fmt.Errorf("handle endpoint %q: it belongs to nodes of type %s, this one is a %s", e.Name, e.Role, n.options.Type)
	}
	codec := e.codec()
	h := &handler{node: n, name: e.Name, role: e.Role, direct: e.Direct}
	h.arrive = func(value any) answer {
		req, ok := value.(*Req)
		if !ok {
			return func(context.Context) (any, error) {
				return nil, fmt.Errorf("the endpoint was declared twice: the request is %T, not %T", value, req)
			}
		}
		fn := arrive(req)
		return func(ctx context.Context) (any, error) {
			resp, err := fn(ctx)
			if err == nil && resp == nil {
				resp = new(Resp)
			}
			return resp, err
		}
	}
	h.decode = func(data []byte) (any, error) {
		req := new(Req)
		if err := codec.Unmarshal(data, req); err != nil {
			return nil, fmt.Errorf("decode the request: %w", err)
		}
		return req, nil
	}
	h.encode = func(resp any) ([]byte, error) {
		out, err := codec.Marshal(resp)
		if err != nil {
			return nil, fmt.Errorf("encode the response: %w", err)
		}
		if limit := n.cluster.payloadLimit(); len(out) > limit {
			return nil, &SizeError{What: fmt.Sprintf("the response of %q", e.Name), Size: len(out), Limit: limit}
		}
		return out, nil
	}
	return n.add(h)
}

// Call calls one healthy, active node of the endpoint's role. Without a deadline in ctx it waits
// for Options.CallTimeout. A node in this process is called without the fabric and without a size
// limit. Errors are *apierr.Error: those of the handler, ServerUnavailable wrapping ErrNoNode,
// ErrTimeout, ErrLost, ErrBusy or ErrProtocol, or ServerInternalError wrapping ErrTooLarge. Only a
// request that was certainly not carried out is sent to another node. If ctx is cancelled, its
// error is returned.
func Call[Req, Resp any](ctx context.Context, n *Node, e Endpoint[Req, Resp], req *Req) (*Resp, error) {
	return CallBy(ctx, n, e, Route{}, req)
}

// CallBy is Call with a Route that selects the node.
func CallBy[Req, Resp any](ctx context.Context, n *Node, e Endpoint[Req, Resp], route Route, req *Req) (*Resp, error) {
	if e.Role == "" {
		return nil, apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("call %q: the endpoint has no role", e.Name))
	}
	c := n.cluster
	subject := c.roleSubject(e.Role, e.Name)
	if route.Key == 0 || c.exclusive {
		if h := c.handlers.find(subject, true); h != nil {
			return call(ctx, c, e, target{subject: subject, local: h, sent: route.Sent}, req)
		}
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.options.CallTimeout)
		defer cancel()
	}
	var tried []string
	// lost are the nodes that stopped answering.
	var lost []*breaker
	var last error
	// sent is true if a node may have carried the request out, cut if the response of such a node
	// was lost.
	sent, cut := false, false
	for paused, again := false, false; ; {
		p := c.routes.pick(e.Role, route.Key, tried)
		switch {
		case p == nil:
		case len(lost) > 0 && p.breaker.isOpen():
			p = nil
		case sent && route.Once && !p.recognises:
			tried = append(tried, p.id)
			continue
		}
		if p == nil {
			pause := retryPause
			switch {
			case route.Once && (cut || slices.ContainsFunc(lost, func(b *breaker) bool { return !b.hasEnded() })):
				// One of them may still carry the request out, or has. The first that answers again
				// gets it once more.
				tried, pause = nil, lostPause
			case route.To != nil && !paused && errors.Is(last, ErrNoNode):
				tried = nil
			case last != nil && sent && !errors.Is(last, ErrLost):
				// An earlier node may have carried the request out.
				return nil, unavailable(fmt.Errorf("call %q: %w, and then: %w", e.Name, ErrLost, last))
			case last != nil:
				return nil, last
			case paused:
				return nil, unavailable(fmt.Errorf("call %q: %w", e.Name, ErrNoNode))
			}
			// A node that has just become active may be unknown here.
			paused = true
			if err := sleep.For(ctx, pause); err != nil {
				return nil, callError(ctx, e.Name, err)
			}
			continue
		}
		var at *place
		if route.To != nil {
			at = p.breaker.place(c.connection())
			if err := route.To(ctx, at.name, again); err != nil {
				return nil, callError(ctx, e.Name, err)
			}
		}
		resp, err := callPeer(ctx, c, e, p, at, route, req)
		switch {
		case errors.Is(err, errUnsent):
			again = true
		case errors.Is(err, errCut):
			again, sent, cut = true, true, true
		case errors.Is(err, ErrLost) && route.mayRepeat(p):
			lost, sent = append(lost, p.breaker), true
			fallthrough
		case errors.Is(err, ErrNoNode), errors.Is(err, ErrBusy) && route.Key == 0:
			tried, last, again = append(tried, p.id), err, true
		case errors.Is(err, ErrBusy) && route.Once && sent:
			// This node did not take the request, but earlier ones may have.
			tried = append(tried, p.id)
		default:
			return resp, err
		}
	}
}

// callPeer is one attempt of CallBy.
func callPeer[Req, Resp any](ctx context.Context, c *Cluster, e Endpoint[Req, Resp], p *peer, at *place, route Route, req *Req) (*Resp, error) {
	repeatable := route.mayRepeat(p)
	to := target{subject: c.nodeSubject(p.id, e.Name), role: true, sent: route.Sent, place: at}
	if !repeatable && p.recognises {
		to.node, to.life = p.id, p.breaker.incarnation
	}
	if own := c.localNode(p.id); own != nil {
		if to.local = c.handlers.find(to.subject, false); to.local == nil || !own.accepting.Load() {
			return nil, unavailable(fmt.Errorf("call %q: %w", e.Name, ErrNoNode))
		}
		return call(ctx, c, e, to, req)
	}
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer p.breaker.track(cancel, repeatable)()
	resp, err := call(attempt, c, e, to, req)
	if stale, ok := errors.AsType[*staleError](err); ok {
		p.breaker.learn(stale.Connection)
		return nil, errUnsent
	}
	switch {
	case ctx.Err() == nil && errors.Is(err, errUnsent):
		return nil, errUnsent
	case ctx.Err() == nil && errors.Is(context.Cause(attempt), errCut):
		return nil, errCut
	case ctx.Err() == nil && errors.Is(context.Cause(attempt), ErrLost):
		return nil, unavailable(fmt.Errorf("call %q on node %q: %w", e.Name, p.id, ErrLost))
	case errors.Is(err, nats.ErrNoResponders):
		// The next answered probe closes the breaker again.
		c.prober.trip(p.breaker, true)
	}
	return resp, err
}

// CallNode is Call for the node with the id, even if it is inactive or unhealthy.
func CallNode[Req, Resp any](ctx context.Context, n *Node, id string, e Endpoint[Req, Resp], req *Req) (*Resp, error) {
	return callNode(ctx, n.cluster, id, e, req, nil)
}

// CallNodeSent is CallNode that calls sent whenever the request was handed to the connection.
// Messages that this process sends afterwards, such as the response to a call, do not arrive if the
// process is killed and the request is lost.
func CallNodeSent[Req, Resp any](ctx context.Context, n *Node, id string, e Endpoint[Req, Resp], req *Req, sent func()) (*Resp, error) {
	return callNode(ctx, n.cluster, id, e, req, sent)
}

func callNode[Req, Resp any](ctx context.Context, c *Cluster, id string, e Endpoint[Req, Resp], req *Req, sent func()) (*Resp, error) {
	if CheckNodeID(id) != nil {
		return nil, unavailable(fmt.Errorf("call %q on node %q: %w", e.Name, id, ErrNoNode))
	}
	subject := c.nodeSubject(id, e.Name)
	to := target{subject: subject, local: c.handlers.find(subject, false), node: id, sent: sent}
	if to.local == nil && !c.exclusive {
		to.life = c.resendable(id)
	}
	return call(ctx, c, e, to, req)
}

// A target is the destination of a call.
type target struct {
	subject string
	// local is the handler if it is in this process, else nil.
	local *handler
	// role is true for a call to a role.
	role bool
	// sent is Route.Sent.
	sent func()
	// node and life identify the receiver if the request may be resent under the same number.
	node, life string
	// place is the destination if the order of requests matters, else nil.
	place *place
}

func call[Req, Resp any](ctx context.Context, c *Cluster, e Endpoint[Req, Resp], to target, req *Req) (resp *Resp, err error) {
	if event.On(event.KindNodeCall) {
		begin := time.Now()
		defer func() {
			if took := time.Since(begin); event.Wants(event.KindNodeCall, took) {
				event.Record(event.NodeCall{Span: event.Span{Start: begin, Duration: took}, Call: e.Name, Subject: to.subject, Local: to.local != nil, Error: err})
			}
		}()
	}
	if telemetry.Sampled(ctx) {
		var span telemetry.Span
		ctx, span = telemetry.Child(ctx, "call "+e.Name, telemetry.Client)
		span.Set(attribute.Bool("app.call.local", to.local != nil))
		defer func() {
			if err != nil {
				span.Fail(apierr.From(err).Code.Name())
			}
			span.End()
		}()
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.options.CallTimeout)
	}
	// A handler that runs in this goroutine has a context with the deadline anyway; a second timer
	// would cost as much.
	if h := to.local; !ok && (h == nil || !h.direct) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	if h := to.local; h != nil {
		value, err := h.invoke(ctx, deadline, req, to.sent)
		if err != nil {
			return nil, err
		}
		resp, ok := value.(*Resp)
		if !ok {
			return nil, apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("call %q: the response is %T, not %T", e.Name, value, resp))
		}
		return resp, nil
	}
	if !c.up.Load() {
		return nil, unavailable(fmt.Errorf("call %q: %w: %w", e.Name, ErrNoNode, errDown))
	}
	codec := e.codec()
	data, err := codec.Marshal(req)
	if err != nil {
		return nil, apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("call %q: encode the request: %w", e.Name, err))
	}
	if limit := c.payloadLimit(); len(data) > limit {
		return nil, apierr.Wrap(apierr.ServerInternalError, &SizeError{What: fmt.Sprintf("the request of %q", e.Name), Size: len(data), Limit: limit})
	}
	reply, err := c.request(ctx, to, data)
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			event.Report(event.Incident{Reason: event.NodeCallFailed, Detail: e.Name})
		}
		return nil, callError(ctx, e.Name, err)
	}
	c.clock.hearIn(reply.Header)
	if err := failureIn(reply); err != nil {
		return nil, err
	}
	resp = new(Resp)
	if err := codec.Unmarshal(reply.Data, resp); err != nil {
		return nil, apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("call %q: decode the response: %w", e.Name, err))
	}
	return resp, nil
}

// request sends a request and waits for the response. It resends it only if no node was there to
// take it, and not if the order of requests matters, because later ones might overtake it.
func (c *Cluster) request(ctx context.Context, to target, data []byte) (*nats.Msg, error) {
	for attempt := 0; ; attempt++ {
		deadline, _ := ctx.Deadline()
		msg := c.envelope(to.subject, data, time.Until(deadline))
		if to.role {
			msg.Header[headerRole] = []string{"1"}
		}
		if to.life != "" {
			msg.Header[headerLife] = []string{to.life}
		}
		if to.place != nil {
			msg.Header[headerConnection] = []string{strconv.FormatUint(to.place.theirs, 10)}
		}
		telemetry.Inject(ctx, http.Header(msg.Header))
		reply, err := c.replies.exchange(ctx, msg, to)
		if !errors.Is(err, nats.ErrNoResponders) || attempt > 0 || to.place != nil {
			return reply, err
		}
		if sleep.For(ctx, retryPause) != nil {
			return nil, nats.ErrNoResponders
		}
	}
}

// reach probes a node of another process. absent means that it is certainly not connected to NATS,
// which is more than not answering.
func (c *Cluster) reach(ctx context.Context, id string) (answers, absent bool) {
	ctx, cancel := context.WithTimeout(ctx, min(absenceInterval, c.options.HeartbeatTimeout))
	defer cancel()
	reply, err := c.request(ctx, target{subject: c.nodeSubject(id, pingEndpoint.Name)}, []byte("{}"))
	return err == nil && failureIn(reply) == nil, errors.Is(err, nats.ErrNoResponders)
}

// callError returns the caller's error if no response arrived.
func callError(ctx context.Context, name string, err error) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionClosed):
		return unavailable(fmt.Errorf("call %q: %w: %w", name, ErrNoNode, err))
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("call %q: %w", name, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return unavailable(fmt.Errorf("call %q: %w: %w", name, ErrTimeout, err))
	}
	// For instance, the connection broke while the request was under way.
	return unavailable(fmt.Errorf("call %q: %w", name, err))
}
