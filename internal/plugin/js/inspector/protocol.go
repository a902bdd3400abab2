// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"maps"
	"slices"
	"strings"
)

// events are the events that sessions send.
var events = []string{
	"Debugger.breakpointResolved", "Debugger.paused", "Debugger.resumed", "Debugger.scriptParsed",
	"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Runtime.executionContextCreated",
}

// A domainInfo describes a domain in the format of the protocol's own description.
type domainInfo struct {
	Domain   string       `json:"domain"`
	Commands []memberInfo `json:"commands"`
	Events   []memberInfo `json:"events"`
}

type memberInfo struct {
	Name string `json:"name"`
}

// protocol describes the supported commands and events. Clients use it to offer only these.
func protocol() any {
	var domains []domainInfo
	of := func(method string) (*domainInfo, memberInfo) {
		name, member, _ := strings.Cut(method, ".")
		i := slices.IndexFunc(domains, func(d domainInfo) bool { return d.Domain == name })
		if i < 0 {
			domains, i = append(domains, domainInfo{name, []memberInfo{}, []memberInfo{}}), len(domains)
		}
		return &domains[i], memberInfo{member}
	}
	for _, method := range slices.Sorted(maps.Keys(commands)) {
		d, member := of(method)
		d.Commands = append(d.Commands, member)
	}
	for _, event := range events {
		d, member := of(event)
		d.Events = append(d.Events, member)
	}
	return map[string]any{"version": map[string]string{"major": "1", "minor": "3"}, "domains": domains}
}
