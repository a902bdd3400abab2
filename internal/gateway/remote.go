// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/pires/go-proxyproto"

	"example.org/app/internal/config"
)

var (
	errNoProxyHeader   = errors.New("the header of the PROXY protocol is missing")
	errNoForwardHeader = errors.New("neither Forwarded nor X-Forwarded-For tells the address of the client")
)

// addressOf returns the address of the other end of a socket.
func addressOf(addr net.Addr) netip.Addr {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(tcp.IP)
		return ip.Unmap()
	}
	return netip.Addr{}
}

// readProxyHeader reads the header of the PROXY protocol, version 1 or 2, that a proxy puts before everything else. The
// address is the zero one if there is no header, or one of a connection that the proxy made for itself.
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

// forwardedAddress returns the address of the client that a proxy tells in the headers of a request: that of the first
// element of Forwarded, else that of X-Forwarded-For. The address is the zero one if they tell none.
func forwardedAddress(h http.Header, mode config.AddressSource) (netip.Addr, error) {
	if mode == config.AddressSourceDisabled {
		return netip.Addr{}, nil
	}
	ip := parseForwarded(strings.Join(h.Values("Forwarded"), ","))
	if !ip.IsValid() {
		first, _, _ := strings.Cut(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
		ip = parseNode(first)
	}
	if !ip.IsValid() && mode == config.AddressSourceRequired {
		return ip, errNoForwardHeader
	}
	return ip, nil
}

// parseForwarded reads the first element of the header of RFC 7239.
func parseForwarded(value string) netip.Addr {
	element := cutOutsideQuotes(value, ',')
	for element != "" {
		pair := cutOutsideQuotes(element, ';')
		element = strings.TrimPrefix(element[len(pair):], ";")
		name, node, _ := strings.Cut(pair, "=")
		if strings.EqualFold(strings.TrimSpace(name), "for") {
			return parseNode(node)
		}
	}
	return netip.Addr{}
}

// cutOutsideQuotes returns what stands before the first separator that is not inside quotes.
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

// parseNode reads an address as proxies write it: bare, in quotes, in brackets, with a port. Names that hide the
// address give the zero one.
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
