// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"net"
	"syscall"
)

func newSocketWriter() *socketWriter {
	w := &socketWriter{}
	w.attempt = func(fd uintptr) bool {
		for {
			w.n, w.err = syscall.Write(int(fd), w.data)
			if !errors.Is(w.err, syscall.EINTR) {
				return true // Do not wait.
			}
		}
	}
	return w
}

// write writes as much as the socket accepts without blocking.
func (w *socketWriter) write(to syscall.RawConn, data []byte) (int, error) {
	w.data, w.n, w.err = data, 0, nil
	err := to.Write(w.attempt)
	w.data = nil
	if err == nil && !errors.Is(w.err, syscall.EAGAIN) {
		err = w.err
	}
	return max(w.n, 0), err
}

// socketOf returns the socket of a connection for non-blocking writes, or nil.
func socketOf(raw net.Conn) syscall.RawConn {
	tcp, ok := raw.(*net.TCPConn)
	if !ok {
		return nil
	}
	socket, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return socket
}
