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

// A Protocol is the version of the protocol between nodes. Versions with the same Major whose Minor
// differs by at most one are compatible, so that a cluster can be upgraded node by node.
type Protocol struct{ Major, Minor int }

// CurrentProtocol is the version of this program. Since 1.1 nodes announce it in their records and
// recognise repeated requests.
var CurrentProtocol = Protocol{Major: 1, Minor: 1}

// recognises reports whether nodes with this version recognise a repeated request by its number or
// its key.
func (p Protocol) recognises() bool { return p.Major > 1 || p.Major == 1 && p.Minor >= 1 }

func (p Protocol) String() string { return strconv.Itoa(p.Major) + "." + strconv.Itoa(p.Minor) }

// understands reports whether the versions are compatible.
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

// The headers of a message. Their spelling is canonical, so that the maps can be used directly.
const (
	headerProtocol = "App-Protocol"
	// headerTimeout is the time left until the deadline, in microseconds.
	headerTimeout = "App-Timeout"
	// headerDeadline is the deadline of the request and headerTime when the message was sent, both
	// in the time of the cluster, in microseconds since 1970.
	headerDeadline = "App-Deadline"
	headerTime     = "App-Time"
	// headerFrom is the id of the publishing node.
	headerFrom = "App-From"
	// headerRole marks a call to a role. A node that does not accept such calls refuses it.
	headerRole = "App-Role"
	// headerLife is the incarnation of the receiver of a request that may be resent. headerFirst is
	// when a resent request was first sent.
	headerLife  = "App-Life"
	headerFirst = "App-First"
	// headerConnection is the receiver's last connection known to the caller, if the order of
	// requests matters.
	headerConnection = "App-Connection"
	// headerFailed marks a response with an error.
	headerFailed = "App-Failed"
)

// The kinds of failures that have a typed error. The texts are part of the protocol.
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
	// The remaining fields depend on the kind.
	What    string    `json:"what,omitempty"`
	Size    int       `json:"size,omitempty"`
	Limit   int       `json:"limit,omitempty"`
	Caller  *Protocol `json:"caller,omitempty"`
	Handler *Protocol `json:"handler,omitempty"`

	Connection uint64 `json:"connection,omitempty"`
}

// failureOf converts an error of the handler to what the caller may see, without internal details.
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

// err returns the error for the caller.
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

// envelope returns the message for a request.
func (c *Cluster) envelope(subject string, data []byte, left time.Duration) *nats.Msg {
	left -= slack(left)
	header := nats.Header{
		headerProtocol: {c.protocol},
		headerTimeout:  {strconv.FormatInt(left.Microseconds(), 10)},
	}
	c.clock.stamp(header, left)
	return &nats.Msg{Subject: subject, Data: data, Header: header}
}

// payloadLimit returns the maximum size of a payload: that of the options, or the server's if that
// is lower.
func (c *Cluster) payloadLimit() int {
	return min(c.options.MaxPayload, int(c.conn.MaxPayload())-envelopeRoom)
}

// checkProtocol returns an error if the sender's protocol is incompatible.
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

// failed returns the response for a failure.
func failed(subject string, f failure) *nats.Msg {
	data, err := json.Marshal(f)
	if err != nil {
		data = []byte(`{"code":1200}`)
	}
	return &nats.Msg{Subject: subject, Data: data, Header: nats.Header{headerFailed: {"1"}}}
}

// failureIn returns the error in a response, or nil if there is none.
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
