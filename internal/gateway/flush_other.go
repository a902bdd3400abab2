// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package gateway

import (
	"errors"
	"net"
	"syscall"
)

func newSocketWriter() *socketWriter { return &socketWriter{} }

func (*socketWriter) write(syscall.RawConn, []byte) (int, error) { return 0, errors.ErrUnsupported }

// socketOf returns nil: each stream writes in a goroutine of its own.
func socketOf(net.Conn) syscall.RawConn { return nil }
