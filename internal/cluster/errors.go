// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"

	"example.org/app/internal/store"
)

// Errors between nodes. A call wraps them in an *apierr.Error; test for them with errors.Is.
var (
	// ErrNoNode means that no node took the request: no node of the role is healthy and active, the
	// named one does not exist, or this process is disconnected. The request was not delivered.
	ErrNoNode = errors.New("no node is available")
	// ErrTimeout means that no response arrived in time. The request may have been carried out.
	ErrTimeout = errors.New("no answer in time")
	// ErrLost means that the node stopped answering during the call. The request may have been
	// carried out. Unless the request is repeatable, the node's process has ended and no longer
	// carries it out.
	ErrLost = errors.New("the node does not answer any more")
	// ErrBusy means that the node runs its maximum number of handlers. The request was not carried
	// out.
	ErrBusy = errors.New("the node is busy")
	// ErrTooLarge means that a request, response or message exceeds Options.MaxPayload. A
	// *SizeError has the numbers.
	ErrTooLarge = errors.New("payload too large")
	// ErrProtocol means that the protocols of the nodes are incompatible. A *ProtocolError has the
	// versions.
	ErrProtocol = errors.New("incompatible protocol")
	// ErrClosed means that the cluster was closed or the node has left.
	ErrClosed = errors.New("the cluster is closed")
	// ErrDuplicateNode means that another live node has the same id.
	ErrDuplicateNode = errors.New("another live node has the same id")
	// ErrOtherStore means that the cluster uses another database than this node.
	ErrOtherStore = errors.New("its database is not the one that the cluster uses")
	// ErrMemberExists means that a record with the id exists already.
	ErrMemberExists = errors.New("the member exists")
	// ErrUnknownMember means that there is no record with the id.
	ErrUnknownMember = errors.New("unknown member")
	// ErrFenced means that another leader has taken over.
	ErrFenced = store.ErrFenced
	// ErrNoNumber means that all node numbers are taken, or that this node's could not be renewed
	// in time.
	ErrNoNumber = errors.New("no node number")
)

// A SizeError reports a payload that is too large. It is an ErrTooLarge.
type SizeError struct {
	What        string
	Size, Limit int
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, the limit is %d", e.What, e.Size, e.Limit)
}

// Is makes every SizeError an ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

// A ProtocolError reports incompatible versions. It is an ErrProtocol.
type ProtocolError struct{ Caller, Handler Protocol }

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("incompatible protocol: the caller speaks %v, the handler %v", e.Caller, e.Handler)
}

// Is makes every ProtocolError an ErrProtocol.
func (e *ProtocolError) Is(target error) bool { return target == ErrProtocol }
