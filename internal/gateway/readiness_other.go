// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package gateway

import (
	"errors"
	"log/slog"
)

// A readiness waits for many sockets at once. There is none on this system, where each connection has its goroutine.
type readiness struct{}

// A registration is what a readiness knows of a stream.
type registration struct{}

func newReadiness(*slog.Logger) *readiness { return &readiness{} }

func (*readiness) usable() bool { return false }

func (*readiness) add(*stream) error { return errors.ErrUnsupported }

func (*readiness) remove(*stream) {}

func (*readiness) run() {}

func (*readiness) close() {}
