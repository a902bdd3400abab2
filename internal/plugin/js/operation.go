// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"sync"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js/engine"
)

// maxOperations is the maximum number of running operations of one plugin.
const maxOperations = 1000

// An operation is asynchronous work for a plugin, with a promise.
type operation struct {
	// owner is the call that began it, or nil.
	owner           *call
	resolve, reject engine.Value
	// value creates the result, on the goroutine of the module; nil means undefined.
	value func() (engine.Value, error)
	err   error
}

func (op *operation) free(m *module) {
	m.engine.Free(op.resolve)
	m.engine.Free(op.reject)
}

// work does the work of an operation, and returns the function that creates the result on the
// goroutine of the module; nil means undefined.
type work func(ctx context.Context) (value func() (engine.Value, error), err error)

// operations are the operations of a plugin. Only the owner of the engine uses it, except posts and
// unbegun.
type operations struct {
	m *module
	// posts are completed operations; unbegun those that ended before they began.
	posts   chan *operation
	unbegun unbegun
	// pending are all operations with a pending promise.
	pending map[*operation]struct{}
}

// begin creates an operation and its promise.
func (ops *operations) begin() (*operation, engine.Value, error) {
	if len(ops.pending) >= maxOperations {
		return nil, engine.Undefined, errTooMany
	}
	promise, resolve, reject := ops.m.engine.NewPromise()
	if engine.IsFailed(promise) {
		return nil, promise, engine.Thrown()
	}
	op := &operation{owner: ops.m.turns.current.Load(), resolve: resolve, reject: reject}
	ops.pending[op] = struct{}{}
	return op, promise, nil
}

// perform does the work of an operation. The context of f ends with the module.
func (ops *operations) perform(op *operation, f work) {
	ctx := ops.m.ctx
	if op.owner != nil {
		ctx = plugin.SameBehalf(ctx, op.owner.ctx)
	}
	ops.m.helpers.Go(func() {
		op.value, op.err = f(ctx)
		select {
		case ops.posts <- op:
		case <-ops.m.closing:
		}
	})
}

// settleLater makes the module's goroutine end an operation that has no goroutine.
func (ops *operations) settleLater(op *operation) {
	ops.unbegun.mu.Lock()
	ops.unbegun.list = append(ops.unbegun.list, op)
	ops.unbegun.mu.Unlock()
	select {
	case ops.unbegun.more <- struct{}{}:
	default:
	}
}

// settleUnbegun ends the operations passed to settleLater.
func (ops *operations) settleUnbegun() {
	ops.unbegun.mu.Lock()
	list := ops.unbegun.list
	ops.unbegun.list = nil
	ops.unbegun.mu.Unlock()
	for _, op := range list {
		if ops.m.dead.Load() == nil {
			ops.settle(op)
		}
	}
}

// unbegun are operations that ended while they waited for their turn; more signals that there are
// some.
type unbegun struct {
	more chan struct{}
	mu   sync.Mutex
	list []*operation
}

// async begins an operation and returns its promise. The context of f ends with the module.
func (ops *operations) async(f work) (engine.Value, error) {
	op, promise, err := ops.begin()
	if err == nil {
		ops.perform(op, f)
	}
	return promise, err
}

// inTurn is async for an operation that waits at a gate. It has no goroutine until then: a thousand
// goroutines that begin at once would all have to run before anything else.
func (ops *operations) inTurn(g *gate, f work) (engine.Value, error) {
	op, promise, err := ops.begin()
	if err != nil {
		return promise, err
	}
	t := &turn{gate: g, owner: op.owner}
	t.start = func() {
		ops.perform(op, func(ctx context.Context) (func() (engine.Value, error), error) {
			defer t.leave()
			return f(ctx)
		})
	}
	t.end = func(why error) {
		op.err = why
		ops.settleLater(op)
	}
	ops.lineUp(t)
	return promise, nil
}

type waitingKey struct{}

// A waitingPlugin is a plugin that waits for a server operation.
type waitingPlugin struct {
	module *module
	// outer is the plugin that waits for the current call; nil means none.
	outer *waitingPlugin
}

// onServer is async for a server operation. It waits for its turn, unless it is part of a running
// operation of the same plugin, for instance if the server calls the plugin because of it, which
// would otherwise deadlock.
func (ops *operations) onServer(f work) (engine.Value, error) {
	var outer *waitingPlugin
	if c := ops.m.turns.current.Load(); c != nil {
		outer, _ = c.ctx.Value(waitingKey{}).(*waitingPlugin)
	}
	mark := func(ctx context.Context) (func() (engine.Value, error), error) {
		return f(context.WithValue(ctx, waitingKey{}, &waitingPlugin{ops.m, outer}))
	}
	for a := outer; a != nil; a = a.outer {
		if a.module == ops.m {
			return ops.async(mark)
		}
	}
	return ops.inTurn(&ops.m.gates.server, func(ctx context.Context) (func() (engine.Value, error), error) {
		ended, err := ops.m.gates.passFresh(ctx)
		if err != nil {
			return nil, err
		}
		defer ended()
		return mark(ctx)
	})
}

// settle settles an operation's promise on behalf of its call, if the call has not ended.
func (ops *operations) settle(op *operation) {
	delete(ops.pending, op)
	owner := op.owner
	if owner != nil && owner.over() {
		owner = nil
	}
	ops.m.turns.run(owner, func() {
		defer op.free(ops.m)
		v, f := engine.Undefined, op.resolve
		err := op.err
		if err == nil && op.value != nil {
			v, err = op.value()
			if err == nil && engine.IsFailed(v) {
				err = engine.Thrown()
			}
		}
		if err != nil {
			v, f = ops.rejection(err), op.reject
		}
		r := ops.m.engine.Call(f, engine.Undefined, v)
		ops.m.engine.Free(v)
		if engine.IsFailed(r) {
			ops.m.uncaught.exception(ops.m.engine.Exception())
		}
		ops.m.engine.Free(r)
	})
}

// rejection converts an error to the reason of a rejection.
func (ops *operations) rejection(err error) engine.Value {
	if err == engine.Thrown() { //nolint:errorlint // a mark, never wrapped
		return ops.m.engine.Exception().Value
	}
	v := ops.m.errorValue(err)
	if engine.IsFailed(v) {
		return ops.m.engine.Exception().Value
	}
	return v
}
