// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net"

	"example.org/app/internal/wire"
)

// acceptTCP handles a TCP connection.
func (g *Gateway) acceptTCP(raw net.Conn) {
	c := g.admit(raw, &g.tcp)
	if c == nil {
		return
	}
	g.start(func() {
		if !c.serve() || !c.ready() {
			c.stream.kill(errClosed)
			c.ended(nil)
			return
		}
		// Read in a new goroutine: the handshakes have grown the stack of this one.
		c.startReading()
	})
}

// readFrames reads until the client disconnects or sends an invalid frame.
func (c *connection) readFrames() error {
	limit := int(c.gateway.settings().ClientAPI.MaxRequestSizeBytes)
	for {
		c.stream.markBoundary()
		payload, err := wire.ReadFrame(c.stream.reader, nil, limit)
		if err != nil {
			return err
		}
		c.receive(payload)
	}
}
