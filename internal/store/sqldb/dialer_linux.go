// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// giveUpAfter lets the kernel end a connection whose other end does not acknowledge what was sent.
func giveUpAfter(fd uintptr, limit time.Duration) error {
	err := unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOPROTOOPT) { // a Unix socket
		return nil
	}
	return err
}
