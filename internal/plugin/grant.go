// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"example.org/app/internal/permission"
)

// Grants are the rights that a plugin requests or has. NewGrants creates them.
type Grants struct {
	// Permissions are permissions of the admin interface, in the order of their table.
	Permissions []permission.Permission
	// Hosts are patterns of the hosts that a script may connect to, in the form of ParseHost,
	// sorted.
	Hosts []string
	// Java allows a script to use Java classes.
	Java bool
}

// maxGrantedHosts is the maximum number of host patterns: nobody would review more.
const maxGrantedHosts = 100

// NewGrants validates the names of permissions and the patterns of hosts. The error is a sentence
// for their author.
func NewGrants(permissions, hosts []string, java bool) (Grants, error) {
	g := Grants{Java: java}
	if most := len(permission.All()); len(permissions) > most {
		return g, fmt.Errorf("permissions has %d entries, and there are only %d permissions", len(permissions), most)
	}
	if len(hosts) > maxGrantedHosts {
		return g, fmt.Errorf("hosts has %d entries, at most %d are allowed", len(hosts), maxGrantedHosts)
	}
	for _, name := range permissions {
		p := permission.Permission(name)
		switch {
		case !permission.Known(p):
			return g, fmt.Errorf("permissions: %q is not a permission of the admin interface, see GET /admins/permissions", clip(name))
		case slices.Contains(g.Permissions, p):
			return g, fmt.Errorf("permissions: %s is there twice", name)
		}
		g.Permissions = append(g.Permissions, p)
	}
	g.Permissions = sortedPermissions(g.Permissions)
	for _, text := range hosts {
		pattern, err := parseHost(text)
		switch {
		case err != nil:
			return g, fmt.Errorf("hosts: %w", err)
		case slices.Contains(g.Hosts, pattern.String()):
			return g, fmt.Errorf("hosts: %q is there twice", clip(text))
		}
		g.Hosts = append(g.Hosts, pattern.String())
	}
	slices.Sort(g.Hosts)
	return g, nil
}

// sortedPermissions sorts permissions in the order of their table.
func sortedPermissions(list []permission.Permission) []permission.Permission {
	if len(list) == 0 {
		return nil
	}
	sorted := permission.All()
	return slices.DeleteFunc(sorted, func(p permission.Permission) bool { return !slices.Contains(list, p) })
}

// IsEmpty reports whether there are no rights.
func (g Grants) IsEmpty() bool { return len(g.Permissions) == 0 && len(g.Hosts) == 0 && !g.Java }

// PermissionSet is the permissions as a set.
func (g Grants) PermissionSet() permission.Set { return permission.NewSet(g.Permissions...) }

// Missing returns the part of want that g does not cover.
func (g Grants) Missing(want Grants) (missing Grants) {
	missing.Permissions = g.PermissionSet().Missing(want.Permissions)
	for _, text := range want.Hosts {
		wanted, err := parseHost(text)
		if err != nil || !slices.ContainsFunc(g.patterns(), func(p hostPattern) bool { return p.covers(wanted) }) {
			missing.Hosts = append(missing.Hosts, text)
		}
	}
	missing.Java = want.Java && !g.Java
	return missing
}

// Union returns what is in g or in more.
func (g Grants) Union(more Grants) Grants {
	hosts := slices.Concat(g.Hosts, more.Hosts)
	slices.Sort(hosts)
	return Grants{
		Permissions: sortedPermissions(slices.Concat(g.Permissions, more.Permissions)), Hosts: slices.Compact(hosts), Java: g.Java || more.Java,
	}
}

// String describes the rights, for sentences: "the permission USER_QUERY and the hosts a.example,
// b.example".
func (g Grants) String() string {
	var parts []string
	if n := len(g.Permissions); n > 0 {
		names := make([]string, n)
		for i, p := range g.Permissions {
			names[i] = string(p)
		}
		parts = append(parts, plural(n, "the permission ", "the permissions ")+strings.Join(names, ", "))
	}
	if n := len(g.Hosts); n > 0 {
		parts = append(parts, plural(n, "the host ", "the hosts ")+strings.Join(g.Hosts, ", "))
	}
	if g.Java {
		parts = append(parts, "classes of Java")
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (g Grants) patterns() []hostPattern {
	list := make([]hostPattern, 0, len(g.Hosts))
	for _, text := range g.Hosts {
		if p, err := parseHost(text); err == nil { // NewGrants accepted it.
			list = append(list, p)
		}
	}
	return list
}

// Reaches reports whether the hosts allow a connection to a URL.
func (g Grants) Reaches(u *url.URL) bool {
	target, err := targetOf(u)
	return err == nil && slices.ContainsFunc(g.patterns(), func(p hostPattern) bool { return p.covers(target) })
}

// NoHost returns the error for a script without grant for the host of a URL. known tells whether
// its descriptor was read.
func NoHost(u *url.URL, known bool) error {
	if !known {
		return fmt.Errorf("the plugin cannot connect to %q yet: nothing is granted before its descriptor is read (app.plugin.grants.mode)", clip(u.Host))
	}
	return fmt.Errorf("the plugin has no grant for the host %q: its descriptor does not declare it in hosts (app.plugin.grants.mode)", clip(u.Host))
}

// NoJava returns the error for a script without grant for Java classes. known tells whether its
// descriptor was read.
func NoJava(known bool) error {
	if !known {
		return errors.New("the plugin cannot use classes of Java yet: nothing is granted before its descriptor is read (app.plugin.grants.mode)")
	}
	return errors.New("the plugin has no grant for classes of Java: its descriptor does not declare java: true (app.plugin.grants.mode)")
}

// A hostPattern is a host, or a set of hosts, with or without a port.
type hostPattern struct {
	// name is a name in lower case and ASCII, or an address in its shortest form, without brackets;
	// "" means every host.
	name string
	// below is true for every host below name, but not name itself.
	below bool
	// port is 0 for every port.
	port uint16
}

// maxHostPattern is the maximum length of a pattern: a name has at most 253 bytes.
const maxHostPattern = 300

// parseHost parses a pattern: a name, an IP address, *.name for every host below it, or * for every
// host, each with or without a port.
func parseHost(text string) (p hostPattern, err error) {
	malformed := func(why string) (hostPattern, error) {
		return p, fmt.Errorf("%q is not a host: %s", clip(text), why)
	}
	switch {
	case text == "":
		return malformed("it is empty")
	case len(text) > maxHostPattern:
		return malformed(fmt.Sprintf("it has more than %d bytes", maxHostPattern))
	case strings.ContainsAny(text, "/\\@?# \t\r\n%"):
		return malformed("give a name, an address or *.name, and a port if wanted, without scheme, path and user")
	}
	host, port, hasPort := text, "", false
	switch end := strings.LastIndexByte(text, ']'); {
	case strings.HasPrefix(text, "["):
		if end < 0 {
			return malformed("the bracket of the address is not closed")
		}
		host = text[:end+1]
		if rest := text[end+1:]; rest != "" {
			if port, hasPort = strings.CutPrefix(rest, ":"); !hasPort {
				return malformed("after the bracket of an address comes nothing or a port")
			}
		}
	case strings.Count(text, ":") == 1:
		host, port, hasPort = strings.Cut(text, ":")
	}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 || port[0] == '+' {
			return malformed("the port must be a number from 1 to 65535")
		}
		p.port = uint16(n)
	}
	if host == "*" {
		return p, nil
	}
	host, p.below = strings.CutPrefix(host, "*.")
	if p.name, err = hostName(host); err != nil {
		return malformed(err.Error())
	}
	if _, err := netip.ParseAddr(p.name); err == nil && p.below {
		return malformed("*. stands before a name, not before an address")
	}
	return p, nil
}

// hostName returns the canonical form of names and addresses.
func hostName(host string) (string, error) {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !closed || err != nil || !a.Is6() || a.Zone() != "" {
			return "", errors.New("in brackets stands an IPv6 address without a zone")
		}
		return a.Unmap().String(), nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if a.Zone() != "" {
			return "", errors.New("an address has no zone here")
		}
		return a.Unmap().String(), nil
	}
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil {
		return "", errors.New("the name is not one of a host")
	}
	name = strings.ToLower(name)
	labels := strings.Split(name, ".")
	if len(name) == 0 || len(name) > 253 || slices.ContainsFunc(labels, func(l string) bool { return !isLabel(l) }) {
		return "", errors.New("the name is not one of a host")
	}
	// Some resolvers parse a name that ends in a number as an address.
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", errors.New("a name does not end in a number; an address is written in full")
	}
	return name, nil
}

// isLabel reports whether a text is one part of a name. An underscore is not allowed in host names,
// but some have it.
func isLabel(l string) bool {
	return len(l) >= 1 && len(l) <= 63 && l[0] != '-' && l[len(l)-1] != '-' &&
		strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// targetOf returns the host and port of a URL.
func targetOf(u *url.URL) (p hostPattern, err error) {
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p.name, err = hostName(host); err != nil {
		return p, err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}[u.Scheme]
	}
	n, err := strconv.ParseUint(port, 10, 16)
	p.port = uint16(n)
	return p, err
}

// covers reports whether p includes everything that other includes.
func (p hostPattern) covers(other hostPattern) bool {
	if p.port != 0 && p.port != other.port {
		return false
	}
	switch {
	case p.name == "":
		return true
	case other.name == "":
		return false
	case p.below:
		return strings.HasSuffix(other.name, "."+p.name) || other.below && other.name == p.name
	}
	return p.name == other.name && !other.below
}

// String returns the canonical form of the pattern.
func (p hostPattern) String() string {
	text := p.name
	switch {
	case p.name == "":
		text = "*"
	case p.below:
		text = "*." + p.name
	case strings.Contains(p.name, ":"):
		text = "[" + p.name + "]"
	}
	if p.port != 0 {
		text += ":" + strconv.Itoa(int(p.port))
	}
	return text
}
