// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"slices"

	"example.org/app/internal/plugin/js/engine"
)

type restartFrame struct{ CallFrameID, Mode string }

// restartFrame ends a call and those inside it, calls its function again, and pauses there.
func (s *session) restartFrame(p restartFrame) (any, error) {
	t := s.target
	t.mu.Lock()
	paused := t.resumed != nil
	t.mu.Unlock()
	if !paused {
		return nil, &protocolError{-32000, "Can only perform operation while paused."}
	}
	n, err := t.halt.frameOf(p.CallFrameID)
	if err != nil {
		return nil, err
	}
	if p.Mode != "StepInto" {
		return nil, &protocolError{-32000, "Restarting frame without 'mode' not supported"}
	}
	if !t.halt.restartable(n) {
		return nil, &protocolError{-32000, "Restarting frame failed"}
	}
	t.restart = n
	if _, err := t.goStep(noStep); err != nil {
		return nil, err
	}
	return map[string]any{"callFrames": []any{}}, nil
}

// restartable reports whether a call of the current pause can be restarted.
func (h *halt) restartable(n *entry) bool {
	return n.probe.Again && h.engine.Leaves(n.frame, h.isLeft)
}

// isLeft reports whether a frame ends as soon as the function that its probe has called again
// returns.
func (h *halt) isLeft(f engine.Frame) bool { return slices.Contains(h.left, f) }

// restarted restarts the call that a debugger requested to restart. If there is none, it
// returns otherwise, which is borrowed.
//
// It is called from inside the probe in which the call was paused. The call then ends with the
// result, and the rest of it does not run.
func (t *Target) restarted(otherwise engine.Value) (engine.Value, error) {
	n, e := t.restart, t.engine
	if n == nil {
		return e.Dup(otherwise), nil
	}
	t.restart = nil
	frame, function, args, this := n.frame, e.FunctionOf(n.frame), e.Arguments(n.frame), engine.Undefined
	if v, ok := t.mirrors.variable(n.access, "this"); ok {
		x, _ := v.Value()
		this = e.Dup(x)
	}
	var innermost engine.Frame
	e.Frames(func(f engine.Frame) bool {
		if innermost.ID == 0 {
			innermost = f
		}
		t.calls.forget(f.ID)
		return f != frame
	})
	t.calls.last = 0
	t.setThrown(engine.Undefined)
	t.mu.Lock()
	t.step = step{kind: stepInto}
	t.mu.Unlock()
	t.halt.left = append(t.halt.left, innermost)
	r := e.Call(function, this, args...)
	t.halt.left = t.halt.left[:len(t.halt.left)-1]
	for _, v := range append(args, function, this) {
		e.Free(v)
	}
	if engine.IsFailed(e.Leave(frame, r)) {
		return r, engine.Thrown()
	}
	return r, nil
}
