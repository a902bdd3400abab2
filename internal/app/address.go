// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// address is the address of a role's admin interface.
type address struct{ host, url string }

// advertise returns the advertised address. A role without admin interface has only a host.
func (p *nodes) advertise(ctx context.Context, r role.Role) (address, error) {
	c := roleAPI(p.Process.opts.Config, r)
	host, err := advertisedHost(ctx, c.Address, c.HTTP.Host, p.Process.opts.Config.IP.PublicIPDetectorAddresses)
	if err != nil {
		return address{}, fmt.Errorf("%s: find the address of the admin interface: %w", r.Name(), err)
	}
	server := p.AdminPorts.servers[r]
	if server == nil {
		return address{host: host}, nil
	}
	scheme, shown := "http", host
	if c.HTTP.SSL.Enabled {
		scheme = "https"
	}
	if c.Address.AttachPortToHost {
		shown = net.JoinHostPort(host, strconv.Itoa(server.Addr().Port))
	} else if strings.Contains(host, ":") {
		shown = "[" + host + "]"
	}
	return address{host: host, url: scheme + "://" + shown}, nil
}

func advertisedHost(ctx context.Context, c config.Address, bind string, detectors []string) (string, error) {
	switch c.AdvertiseStrategy {
	case config.AdvertiseAddress:
		return c.AdvertiseHost, nil
	case config.BindAddress:
		return bind, nil
	case config.PublicAddress:
		return publicAddress(ctx, detectors)
	default:
		// A server that listens on one address is unreachable at others.
		if ip, err := netip.ParseAddr(bind); err == nil && !ip.IsUnspecified() {
			return bind, nil
		}
		return privateAddress()
	}
}

// privateAddress returns an address of this machine for its neighbours: IPv4 before IPv6, and the
// loopback address without network. A server on the wildcard address answers on both.
func privateAddress() (string, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	found := netip.Addr{}
	for _, a := range addrs {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		ip := prefix.Addr().Unmap()
		if !ip.IsPrivate() || found.IsValid() && (found.Is4() || ip.Is6()) {
			continue
		}
		found = ip
	}
	if !found.IsValid() {
		return "127.0.0.1", nil
	}
	return found.String(), nil
}

// detectorTimeout bounds the request to one detector.
const detectorTimeout = 5 * time.Second

// publicAddress queries the detectors one after the other.
func publicAddress(ctx context.Context, detectors []string) (string, error) {
	var errs []error
	for _, url := range detectors {
		ip, err := askDetector(ctx, url)
		if err == nil {
			return ip.String(), nil
		}
		errs = append(errs, fmt.Errorf("ask %s: %w", url, err))
	}
	if len(errs) == 0 {
		return "", errors.New("no detector of the public address is configured")
	}
	return "", errors.Join(errs...)
}

func askDetector(ctx context.Context, url string) (netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, detectorTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return netip.Addr{}, err
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return netip.Addr{}, err
	}
	defer resp.Body.Close()
	const most = 256
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return netip.Addr{}, err
	}
	return netip.ParseAddr(strings.TrimSpace(string(body)))
}
