// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
)

// readyAtOnce is the maximum number of events per call.
const readyAtOnce = 128

// A readiness waits for input on many sockets. It is an epoll instance that is itself registered
// with the runtime's poller, so that no thread blocks.
type readiness struct {
	// file is nil if epoll is unavailable: then nothing can be added.
	file *os.File
	conn syscall.RawConn

	mu sync.Mutex
	// streams are the registered streams by file descriptor.
	streams []*stream
}

// A registration is the state of a stream in a readiness.
type registration struct {
	fd int
	// known is true if the socket was added to epoll before.
	known bool
}

// newReadiness opens an epoll instance. If that fails, connections are not parked.
func newReadiness(logger *slog.Logger) *readiness {
	r := &readiness{}
	if err := r.open(); err != nil {
		logger.Warn("connections of silent clients take more memory than they need", "error", err)
	}
	return r
}

func (r *readiness) open() error {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open an instance of epoll: %w", err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return errors.Join(fmt.Errorf("open an instance of epoll: %w", err), syscall.Close(fd))
	}
	file := os.NewFile(uintptr(fd), "epoll")
	conn, err := file.SyscallConn()
	if err != nil {
		return errors.Join(fmt.Errorf("open an instance of epoll: %w", err), file.Close())
	}
	r.file, r.conn = file, conn
	return nil
}

// usable reports whether streams can be added.
func (r *readiness) usable() bool { return r.file != nil }

// add arranges for the stream to be woken once when its socket becomes readable.
func (r *readiness) add(s *stream) error {
	socket, ok := s.raw.(syscall.Conn)
	if !ok || !r.usable() {
		return errors.ErrUnsupported
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var armed error
	err = raw.Control(func(fd uintptr) {
		armed = errors.Join(armed, r.conn.Control(func(epoll uintptr) { armed = r.arm(int(epoll), int(fd), s) }))
	})
	return errors.Join(err, armed)
}

// arm registers the socket of a stream with epoll.
func (r *readiness) arm(epoll, fd int, s *stream) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	operation := syscall.EPOLL_CTL_ADD
	if s.registration.known {
		operation = syscall.EPOLL_CTL_MOD
	}
	// After one event epoll ignores the socket until it is armed again.
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | oneShot, Fd: int32(fd)}
	if err := syscall.EpollCtl(epoll, operation, fd, &event); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	for len(r.streams) <= fd {
		r.streams = append(r.streams, nil)
	}
	r.streams[fd], s.registration = s, registration{fd, true}
	return nil
}

// oneShot is EPOLLONESHOT.
const oneShot = 1 << 30

// remove removes a stream that need not be woken.
func (r *readiness) remove(s *stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The descriptor may have been reused.
	if fd := s.registration.fd; fd < len(r.streams) && r.streams[fd] == s {
		r.streams[fd] = nil
	}
}

// run wakes streams until close.
func (r *readiness) run() {
	if !r.usable() {
		return
	}
	events := make([]syscall.EpollEvent, readyAtOnce)
	for {
		n := 0
		err := r.conn.Read(func(epoll uintptr) bool {
			var err error
			for n, err = syscall.EpollWait(int(epoll), events, 0); errors.Is(err, syscall.EINTR); {
				n, err = syscall.EpollWait(int(epoll), events, 0)
			}
			return n > 0
		})
		if err != nil {
			return
		}
		for _, event := range events[:n] {
			if s := r.find(int(event.Fd)); s != nil {
				s.wake()
			}
		}
	}
}

func (r *readiness) find(fd int) *stream {
	r.mu.Lock()
	defer r.mu.Unlock()
	if fd >= len(r.streams) {
		return nil
	}
	return r.streams[fd]
}

// close ends run.
func (r *readiness) close() {
	if r.usable() {
		_ = r.file.Close()
	}
}
