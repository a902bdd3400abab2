// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/ratelimit"
	"example.org/app/internal/requestlog"
	"example.org/app/internal/wire"
)

// A signal is a datagram of a client.
type signal struct {
	kind      byte
	userID    int64
	device    wire.DeviceType
	sessionID int32
}

const (
	// signalSize is the size of every datagram of a client.
	signalSize = 14

	signalHeartbeat byte = 1
	signalOffline   byte = 2
)

// connectAgain is the datagram that asks a client to reconnect.
var connectAgain = []byte{1}

// parseSignal reads a datagram.
func parseSignal(b []byte) (s signal, ok bool) {
	if len(b) != signalSize {
		return s, false
	}
	s = signal{
		kind: b[0], userID: int64(binary.BigEndian.Uint64(b[1:])), device: wire.DeviceType(b[9]),
		sessionID: int32(binary.BigEndian.Uint32(b[10:])),
	}
	_, known := wire.DeviceType_name[int32(s.device)]
	return s, known && (s.kind == signalHeartbeat || s.kind == signalOffline)
}

// datagrams handles datagrams: heartbeats of clients without a connection, and requests to
// reconnect.
type datagrams struct {
	gateway *Gateway
	// wrong counts datagrams without a valid session.
	wrong *ratelimit.Limiter
}

// serve handles datagrams until the port is closed.
func (d *datagrams) serve() {
	g := d.gateway
	conn := g.options.Ports.udp
	buffer := make([]byte, signalSize+1)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buffer)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil || g.options.BlockedIPs.BlockedNow(from.Addr().Unmap()) || !d.wrong.Has(g.client(from.Addr().Unmap()), wrongSignalRule):
			continue
		}
		g.traffic.received.Add(uint64(n))
		var answer []byte
		code, known := d.carryOut(buffer[:n], from)
		if !known {
			d.wrong.Take(g.client(from.Addr().Unmap()), wrongSignalRule)
		}
		if code != apierr.OK {
			answer = binary.BigEndian.AppendUint16(nil, uint16(code))
		}
		// A lost response is like a lost datagram.
		_, _ = conn.WriteToUDPAddrPort(answer, from)
		g.traffic.sent.Add(uint64(len(answer)))
	}
}

// wrongSignalRule bounds the datagrams of an address without a valid session, so that nobody can
// find one by trying. An address above the limit gets no responses over UDP for a while. It is not
// blocked, because the source address of a datagram can be forged to get others blocked.
var wrongSignalRule = ratelimit.Rule{Capacity: 20, InitialTokens: 20, TokensPerPeriod: 1, RefillInterval: 30 * time.Second}

// carryOut handles a datagram and reports whether it identifies a session.
func (d *datagrams) carryOut(b []byte, from netip.AddrPort) (code apierr.Code, known bool) {
	g := d.gateway
	begin := time.Now()
	signal, ok := parseSignal(b)
	if !ok {
		return apierr.InvalidRequest, false
	}
	s := g.sessions.find(signal.userID, signal.device)
	if s == nil || s.ID != signal.sessionID {
		return apierr.SendRequestFromNonexistentSession, false
	}
	if signal.kind == signalOffline {
		g.end(s, CloseReason{Status: wire.ClosedByClient})
		return apierr.OK, true
	}
	s.mu.Lock()
	s.udp = from
	recovering := s.called && s.conn == nil
	s.mu.Unlock()
	code = apierr.SendRequestFromNonexistentSession
	if !recovering {
		s.beat(g.minHeartbeatInterval())
		code = apierr.OK
	}
	if g.options.Requests.Wants(0) {
		g.options.Requests.Write(requestlog.Entry{
			UserID: s.UserID, SessionID: s.ID, Device: s.Device, IP: from.Addr().Unmap(), Size: len(b), Code: int32(code), Begin: begin,
		})
	}
	return code, true
}

// switchToUDP detaches and closes the connection of an idle client. The session stays open.
func (s *Session) switchToUDP() {
	c, open := s.connection()
	if !open || c == nil || s.Device == wire.DeviceType_BROWSER || !s.detach(c) {
		return
	}
	c.close(CloseReason{Status: wire.ClosedSwitch})
}

// call asks a client without connection to reconnect, once.
func (d *datagrams) call(s *Session) {
	s.mu.Lock()
	to, first := s.udp, !s.called && s.conn == nil && s.udp.IsValid()
	if first {
		s.called = true
	}
	s.mu.Unlock()
	if conn := d.gateway.options.Ports.udp; first && conn != nil {
		_, _ = conn.WriteToUDPAddrPort(connectAgain, to)
	}
}
