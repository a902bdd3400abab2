// SPDX-License-Identifier: Apache-2.0

// Package plugin extends the server by plugins: it finds plugins, manages them, runs the life cycle
// of their extensions and calls them at the extension points.
//
// It knows no language: a Host does. It knows no role and no rule: the callers of extension points
// do.
package plugin

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/role"
)

// A Language is the language of a plugin.
type Language string

// The languages.
const (
	Java       Language = "JAVA"
	JavaScript Language = "JAVA_SCRIPT"
)

// A Descriptor is a plugin's description of itself.
type Descriptor struct {
	// ID is the plugin's unique id, never empty.
	ID                                      string
	Version, Provider, License, Description string
	// Servers are the roles that the plugin is for; empty means every role.
	Servers []role.Role
	// Settings is the schema of its settings; nil means none.
	Settings *Schema
	// Requested are the rights that the plugin requests. It has no others, unless everything is
	// granted (config.GrantsOpen).
	Requested Grants
}

// A Plugin is a loaded plugin.
type Plugin struct {
	Descriptor
	Language Language
	// Path is the path of its file; empty if there is none.
	Path     string
	LoadedAt time.Time
	// Digest is the SHA-256 digest of its bytes in hexadecimal.
	Digest  string
	module  Module
	members []*member
	// roles are the roles of the server that loaded it.
	roles []role.Role
	// released is true once the module is closed although the plugin is still listed.
	released atomic.Bool
	// rank is its position in the list.
	rank int
	// source is its source, for reloading it if it dies; dead is true once it did.
	source Source
	dead   atomic.Bool
	// left is closed when the plugin is removed.
	left    chan struct{}
	leaving sync.Once
	// running is the number of running calls of all extensions.
	running   atomic.Int64
	excess    excess
	timetable *Timetable
	// deliveries and granted are those of the manager.
	deliveries *deliveries
	granted    *Granted
	// renewals is how often it died and was reloaded before.
	renewals int
	// trial is true for a candidate beside another version.
	trial atomic.Bool
	// shadow is true for a candidate that gets copies of calls; host is its own, or nil.
	shadow bool
	host   Host
	// meter counts its calls while two versions run; nil otherwise.
	meter atomic.Pointer[meter]
}

// File returns the name of the plugin's file, and its bytes, which are read only.
func (p *Plugin) File() (name string, data []byte) { return p.source.Name, p.source.Data }

// Extensions returns what there is to know of the extensions.
func (p *Plugin) Extensions() []ExtensionInfo {
	infos := make([]ExtensionInfo, len(p.members))
	for i, b := range p.members {
		infos[i] = ExtensionInfo{Class: b.Class(), State: b.life.State(), Points: b.Points(), Queue: b.calls.count(), Schedules: p.timetable.info(b), Endpoints: b.published(), Delivery: p.deliveries.of(b), Statistics: b.record.statistics()}
		for _, point := range b.Points() {
			infos[i].Methods = append(infos[i].Methods, slices.DeleteFunc(slices.Clone(point.Methods), func(method *Method) bool { return !b.Implements(method) })...)
		}
	}
	return infos
}

// Memory returns the plugin's memory in bytes; 0 means unknown.
func (p *Plugin) Memory() int64 {
	if p.released.Load() {
		return 0
	}
	return p.module.Memory()
}

// CPU returns the plugin's processor time; 0 means unknown.
func (p *Plugin) CPU() time.Duration {
	if m, ok := p.module.(Measured); ok && !p.released.Load() {
		return m.CPU()
	}
	return 0
}

// Allocated returns the bytes allocated for the plugin, including freed ones; 0 means unknown.
func (p *Plugin) Allocated() int64 {
	if m, ok := p.module.(Measured); ok && !p.released.Load() {
		return m.Allocated()
	}
	return 0
}

// Shared returns the plugin's data in the cluster; nil for a plugin of this node.
func (p *Plugin) Shared() *Shared { return p.source.Shared }

// isUpload reports whether an administrator uploaded the plugin to this node: it is neither from
// the folder nor from the network nor from the cluster.
func (p *Plugin) isUpload() bool {
	return p.source.Shared == nil && p.source.rank == 0 && p.source.Path == ""
}

// Renewals returns how often the plugin died and was reloaded.
func (p *Plugin) Renewals() int { return p.renewals }

// Missing returns the requested rights that were not granted.
func (p *Plugin) Missing() Grants { return p.granted.Missing(p.Descriptor) }

// Allowed returns the plugin's rights.
func (p *Plugin) Allowed() Grants { return p.granted.Allowed(p.Descriptor) }

// Debugger returns where debuggers attach to the plugin; the zero value if they cannot.
func (p *Plugin) Debugger() Debugger {
	if d, ok := p.module.(Debuggable); ok {
		return d.Debugger()
	}
	return Debugger{}
}

// Excess returns which limit the plugin exceeds, and the measure in effect; "" if none.
func (p *Plugin) Excess() string {
	switch s := p.excess.state.Load(); {
	case s == nil:
		return ""
	case s.measure == slow:
		return s.reason + "; its calls wait"
	default:
		return s.reason + "; its calls fail"
	}
}
