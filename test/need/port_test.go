// SPDX-License-Identifier: Apache-2.0

package need

import (
	"net"
	"strconv"
	"testing"
)

// TestPort listens on many ports, none of which is ephemeral.
func TestPort(t *testing.T) {
	for range 50 {
		port := Port(t)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if port < firstPort || port > lastPort {
			t.Errorf("the port is %d", port)
		}
	}
}
