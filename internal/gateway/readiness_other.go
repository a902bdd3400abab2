// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package gateway

import (
	"errors"
	"log/slog"
)

// A readiness waits for input on many sockets. On this system there is none, and each connection
// has its goroutine.
type readiness struct{}

// A registration is the state of a stream in a readiness.
type registration struct{}

func newReadiness(*slog.Logger) *readiness { return &readiness{} }

func (*readiness) usable() bool { return false }

func (*readiness) add(*stream) error { return errors.ErrUnsupported }

func (*readiness) remove(*stream) {}

func (*readiness) run() {}

func (*readiness) close() {}
