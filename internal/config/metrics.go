// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/netip"
	"strings"

	"example.org/app/internal/config/property"
)

// Metrics configures who may read the metrics.
type Metrics struct {
	OpenTo []string `mutable:"true" doc:"The addresses and CIDR ranges from which /metrics may be read without credentials."`
}

// Networks returns the parsed OpenTo, with single addresses as ranges, without invalid entries.
func (m Metrics) Networks() []netip.Prefix {
	return networks(m.OpenTo)
}

// networks parses addresses and ranges, omitting invalid ones.
func networks(list []string) []netip.Prefix {
	networks := make([]netip.Prefix, 0, len(list))
	for _, s := range list {
		if p, err := parseNetwork(s); err == nil {
			networks = append(networks, p)
		}
	}
	return networks
}

// Validate checks that each entry is an address or a range.
func (m Metrics) Validate() error {
	return checkNetworks("open-to", m.OpenTo)
}

// checkNetworks returns an error for an entry that is neither an address nor a range.
func checkNetworks(name string, list []string) error {
	for i, s := range list {
		if _, err := parseNetwork(s); err != nil {
			return property.Violation(fmt.Sprintf("%s[%d]", name, i), "must be an IP address or a CIDR range such as 10.0.0.0/8")
		}
	}
	return nil
}

// parseNetwork parses an address or a range. Zones are an error, because a range never contains an
// address with a zone.
func parseNetwork(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		p, err := netip.ParsePrefix(s)
		return p.Masked(), err
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	if a.Zone() != "" {
		return netip.Prefix{}, fmt.Errorf("parse address %q: zones are not allowed", s)
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), nil
}
