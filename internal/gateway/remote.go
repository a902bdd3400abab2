// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/pires/go-proxyproto"

	"example.org/app/internal/config"
)

var (
	errNoProxyHeader   = errors.New("the header of the PROXY protocol is missing")
	errNoForwardHeader = errors.New("neither Forwarded nor X-Forwarded-For tells the address of the client")
)

// addressOf returns the remote address of a socket.
func addressOf(addr net.Addr) netip.Addr {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(tcp.IP)
		return ip.Unmap()
	}
	return netip.Addr{}
}

// believes reports whether a peer may declare the address of the client.
func (t *transport) believes(peer netip.Addr, mode config.AddressSource) bool {
	if len(t.trusted) == 0 {
		return mode == config.AddressSourceRequired
	}
	return t.trusts(peer)
}

// trusts reports whether an address is that of a trusted proxy.
func (t *transport) trusts(ip netip.Addr) bool {
	return slices.ContainsFunc(t.trusted, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// warn logs a warning if any client can declare any address.
func (t *transport) warn(logger *slog.Logger, name string) {
	if len(t.trusted) == 0 && t.settings.Enabled && (t.proxy == config.AddressSourceRequired || t.forward == config.AddressSourceRequired) {
		logger.Warn("every peer is taken for a proxy and can claim any client address; name the proxies in trusted-proxies", "transport", name)
	}
}

// forwarded returns the client's address from the headers of a request from a peer. It is zero if
// there is none or the peer is not trusted.
func (t *transport) forwarded(h http.Header, peer netip.Addr) (netip.Addr, error) {
	trusted := t.trusts
	if len(t.trusted) == 0 {
		trusted = func(netip.Addr) bool { return true }
	}
	ip, err := forwardedAddress(h, t.forward, trusted)
	if err != nil || !t.believes(peer, t.forward) {
		return netip.Addr{}, err
	}
	return ip, nil
}

// readProxyHeader reads the header of the PROXY protocol, version 1 or 2, at the start of a
// connection. The address is zero if there is no header, or if the proxy made the connection for
// itself.
func readProxyHeader(r *bufio.Reader, mode config.AddressSource) (netip.Addr, error) {
	if mode == config.AddressSourceDisabled {
		return netip.Addr{}, nil
	}
	header, err := proxyproto.Read(r)
	switch {
	case errors.Is(err, proxyproto.ErrNoProxyProtocol):
		if mode == config.AddressSourceRequired {
			return netip.Addr{}, errNoProxyHeader
		}
		return netip.Addr{}, nil
	case err != nil:
		return netip.Addr{}, fmt.Errorf("read the header of the PROXY protocol: %w", err)
	case header.Command.IsLocal():
		return netip.Addr{}, nil
	}
	source, _, ok := header.IPs()
	if !ok {
		return netip.Addr{}, nil
	}
	ip, _ := netip.AddrFromSlice(source)
	return ip.Unmap(), nil
}

// forwardedAddress returns the client's address from the Forwarded header of a request, else from
// X-Forwarded-For. Each proxy appends the address of its peer, and the client may have forged
// earlier ones: the result is the last address that is not a trusted proxy's, or the first one if
// all are. It is zero if there is none.
func forwardedAddress(h http.Header, mode config.AddressSource, trusted func(netip.Addr) bool) (netip.Addr, error) {
	if mode == config.AddressSourceDisabled {
		return netip.Addr{}, nil
	}
	nodes := parseForwarded(strings.Join(h.Values("Forwarded"), ","))
	if !slices.ContainsFunc(nodes, netip.Addr.IsValid) {
		nodes = nil
		if list := strings.Join(h.Values("X-Forwarded-For"), ","); list != "" {
			for node := range strings.SplitSeq(list, ",") {
				nodes = append(nodes, parseNode(node))
			}
		}
	}
	ip := clientOf(nodes, trusted)
	if !ip.IsValid() && mode == config.AddressSourceRequired {
		return ip, errNoForwardHeader
	}
	return ip, nil
}

// clientOf selects the client from the addresses that proxies appended.
func clientOf(nodes []netip.Addr, trusted func(netip.Addr) bool) netip.Addr {
	for _, ip := range slices.Backward(nodes) {
		if !trusted(ip) {
			return ip
		}
	}
	if len(nodes) > 0 {
		return nodes[0]
	}
	return netip.Addr{}
}

// parseForwarded parses the addresses in the header of RFC 7239; an obfuscated one is zero.
func parseForwarded(value string) (nodes []netip.Addr) {
	for value != "" {
		element := cutOutsideQuotes(value, ',')
		value = strings.TrimPrefix(value[len(element):], ",")
		for element != "" {
			pair := cutOutsideQuotes(element, ';')
			element = strings.TrimPrefix(element[len(pair):], ";")
			name, node, _ := strings.Cut(pair, "=")
			if strings.EqualFold(strings.TrimSpace(name), "for") {
				nodes = append(nodes, parseNode(node))
				break
			}
		}
	}
	return nodes
}

// cutOutsideQuotes returns the text before the first separator outside quotes.
func cutOutsideQuotes(text string, separator byte) string {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == separator && !quoted:
			return text[:i]
		}
	}
	return text
}

// parseNode parses an address as proxies write it: plain, in quotes, in brackets, with a port. It
// returns zero for obfuscated names.
func parseNode(text string) netip.Addr {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")); err == nil {
		return ip.Unmap().WithZone("")
	}
	if host, _, err := net.SplitHostPort(text); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil {
			return ip.Unmap().WithZone("")
		}
	}
	return netip.Addr{}
}
