// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net"

	"example.org/app/internal/wire"
)

// acceptTCP takes a connection over TCP.
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
		// The goroutine that waits for frames is a new one, because the handshakes have made the stack of this one large.
		c.startReading()
	})
}

// readFrames reads until the client goes or sends nonsense.
func (c *connection) readFrames() error {
	limit := int(c.gateway.settings().ClientAPI.MaxRequestSizeBytes)
	for {
		c.stream.begin()
		payload, err := wire.ReadFrame(c.stream.reader, nil, limit)
		if err != nil {
			return err
		}
		c.receive(payload)
	}
}
