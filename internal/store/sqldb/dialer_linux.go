// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// giveUpAfter makes the kernel close a connection whose peer does not acknowledge data in time.
func giveUpAfter(fd uintptr, limit time.Duration) error {
	err := unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOPROTOOPT) { // a Unix socket
		return nil
	}
	return err
}
