// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/app/internal/apierr"
)

// A Protocol is the version of what nodes say to each other. Nodes with the same Major and a Minor that differs by at
// most one understand each other, so that a cluster can be upgraded node by node.
type Protocol struct{ Major, Minor int }

// CurrentProtocol is that of this program. Since 1.1 nodes announce it in their records, and know requests that come for the
// second time.
var CurrentProtocol = Protocol{Major: 1, Minor: 1}

// recognises reports whether nodes with this version know a request that comes for the second time, by its number or its key.
func (p Protocol) recognises() bool { return p.Major > 1 || p.Major == 1 && p.Minor >= 1 }

func (p Protocol) String() string { return strconv.Itoa(p.Major) + "." + strconv.Itoa(p.Minor) }

// understands reports whether nodes with these versions can talk.
func (p Protocol) understands(other Protocol) bool {
	difference := p.Minor - other.Minor
	return p.Major == other.Major && difference >= -1 && difference <= 1
}

func parseProtocol(text string) (Protocol, error) {
	major, minor, _ := strings.Cut(text, ".")
	var p Protocol
	var majorErr, minorErr error
	p.Major, majorErr = strconv.Atoi(major)
	p.Minor, minorErr = strconv.Atoi(minor)
	if err := errors.Join(majorErr, minorErr); err != nil {
		return Protocol{}, fmt.Errorf("protocol version %q must be major.minor", text)
	}
	return p, nil
}

// The headers of a message. The spelling is canonical, so that the maps can be used directly.
const (
	headerProtocol = "App-Protocol"
	// headerTimeout is what is left until the deadline, in microseconds.
	headerTimeout = "App-Timeout"
	// headerDeadline is until when the request may be carried out, by the time of the cluster, and headerTime when the
	// message was sent, both in microseconds since 1970.
	headerDeadline = "App-Deadline"
	headerTime     = "App-Time"
	// headerFrom is the id of the node that published a message.
	headerFrom = "App-From"
	// headerRole marks a call to a role: a node that takes none refuses it.
	headerRole = "App-Role"
	// headerLife is the incarnation of the node that a request is for which may be sent again, and headerFirst when it was
	// sent for the first time, if it was sent again.
	headerLife  = "App-Life"
	headerFirst = "App-First"
	// headerConnection is the last connection of the node that the caller knows of, if the order of requests matters.
	headerConnection = "App-Connection"
	// headerFailed marks a response that is a failure.
	headerFailed = "App-Failed"
)

// The kinds of failures that have a typed error. The texts go over the wire.
const (
	kindBusy     = "busy"
	kindNoNode   = "gone"
	kindTimeout  = "timeout"
	kindTooLarge = "too-large"
	kindProtocol = "protocol"
	kindStale    = "stale"
)

// A failure is an error on its way to the caller.
type failure struct {
	Code   apierr.Code `json:"code"`
	Status int         `json:"status,omitempty"`
	Reason string      `json:"reason"`
	Kind   string      `json:"kind,omitempty"`
	// The rest belongs to the kinds.
	What    string    `json:"what,omitempty"`
	Size    int       `json:"size,omitempty"`
	Limit   int       `json:"limit,omitempty"`
	Caller  *Protocol `json:"caller,omitempty"`
	Handler *Protocol `json:"handler,omitempty"`

	Connection uint64 `json:"connection,omitempty"`
}

// failureOf is what the caller is told of an error of the handler's side: nothing of the inside.
func failureOf(err error) failure {
	if sizeErr, ok := errors.AsType[*SizeError](err); ok {
		f := failureWith(apierr.ServerInternalError, kindTooLarge)
		f.What, f.Size, f.Limit = sizeErr.What, sizeErr.Size, sizeErr.Limit
		return f
	}
	if protocolErr, ok := errors.AsType[*ProtocolError](err); ok {
		f := failureWith(apierr.ServerUnavailable, kindProtocol)
		f.Caller, f.Handler = &protocolErr.Caller, &protocolErr.Handler
		return f
	}
	if stale, ok := errors.AsType[*staleError](err); ok {
		f := failureWith(apierr.ServerUnavailable, kindStale)
		f.Connection = stale.Connection
		return f
	}
	switch {
	case errors.Is(err, ErrBusy):
		return failureWith(apierr.ServerUnavailable, kindBusy)
	case errors.Is(err, ErrNoNode):
		return failureWith(apierr.ServerUnavailable, kindNoNode)
	case errors.Is(err, ErrTimeout):
		return failureWith(apierr.ServerUnavailable, kindTimeout)
	}
	if business, ok := errors.AsType[*apierr.Error](err); ok {
		return failure{Code: business.Code, Status: business.Status, Reason: business.Reason}
	}
	return failureWith(apierr.ServerInternalError, "")
}

func failureWith(code apierr.Code, kind string) failure {
	return failure{Code: code, Reason: code.Text(), Kind: kind}
}

// err is the error that the caller gets.
func (f failure) err() error {
	result := &apierr.Error{Code: f.Code, Status: f.Status, Reason: f.Reason}
	switch f.Kind {
	case kindBusy:
		result.Err = ErrBusy
	case kindNoNode:
		result.Err = ErrNoNode
	case kindTimeout:
		result.Err = ErrTimeout
	case kindStale:
		result.Err = &staleError{f.Connection}
	case kindTooLarge:
		result.Err = &SizeError{What: f.What, Size: f.Size, Limit: f.Limit}
	case kindProtocol:
		if f.Caller != nil && f.Handler != nil {
			result.Err = &ProtocolError{Caller: *f.Caller, Handler: *f.Handler}
		} else {
			result.Err = ErrProtocol
		}
	}
	return result
}

// envelope makes the message of a request.
func (c *Cluster) envelope(subject string, data []byte, left time.Duration) *nats.Msg {
	left -= slack(left)
	header := nats.Header{
		headerProtocol: {c.protocol},
		headerTimeout:  {strconv.FormatInt(left.Microseconds(), 10)},
	}
	c.clock.stamp(header, left)
	return &nats.Msg{Subject: subject, Data: data, Header: header}
}

// payloadLimit is how large a payload may be: what the options say, or less if the server takes less.
func (c *Cluster) payloadLimit() int {
	return min(c.options.MaxPayload, int(c.conn.MaxPayload())-envelopeRoom)
}

// checkProtocol refuses messages of nodes that this one does not understand.
func (c *Cluster) checkProtocol(header nats.Header) error {
	text := first(header, headerProtocol)
	if text == c.protocol {
		return nil
	}
	caller, err := parseProtocol(text)
	if err != nil || !c.options.Protocol.understands(caller) {
		return &ProtocolError{Caller: caller, Handler: c.options.Protocol}
	}
	return nil
}

func first(header nats.Header, key string) string {
	if values := header[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// timeoutOf returns how long the caller waits.
func (c *Cluster) timeoutOf(header nats.Header) time.Duration {
	microseconds, err := strconv.ParseInt(first(header, headerTimeout), 10, 64)
	if err != nil {
		return c.options.CallTimeout
	}
	return time.Duration(microseconds) * time.Microsecond
}

// failed makes the response of a failure.
func failed(subject string, f failure) *nats.Msg {
	data, err := json.Marshal(f)
	if err != nil {
		data = []byte(`{"code":1200}`)
	}
	return &nats.Msg{Subject: subject, Data: data, Header: nats.Header{headerFailed: {"1"}}}
}

// failureIn returns the error of a response that is one.
func failureIn(msg *nats.Msg) error {
	if first(msg.Header, headerFailed) == "" {
		return nil
	}
	var f failure
	if err := json.Unmarshal(msg.Data, &f); err != nil {
		return apierr.Wrap(apierr.ServerInternalError, fmt.Errorf("decode the failure of a call: %w", err))
	}
	return f.err()
}
