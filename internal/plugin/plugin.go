// SPDX-License-Identifier: Apache-2.0

// Package plugin lets programs of others take part in what the server does: it finds plugins, keeps them, leads their
// extensions through their life and calls them at the extension points.
//
// It knows no language: a Host does. It knows no role and no rule: who calls an extension point does.
package plugin

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/role"
)

// A Language is what a plugin is written in.
type Language string

// The languages.
const (
	Java       Language = "JAVA"
	JavaScript Language = "JAVA_SCRIPT"
)

// A Descriptor is what a plugin says of itself.
type Descriptor struct {
	// ID is never empty and distinguishes plugins.
	ID                                      string
	Version, Provider, License, Description string
	// Servers are the roles that the plugin is made for; none is every role.
	Servers []role.Role
	// Settings are those that administrators can change while the plugin runs; nil is none.
	Settings *Schema
	// Requested is what the plugin asks for. It has no more, unless everything is granted (config.GrantsOpen).
	Requested Grants
}

// A Plugin is loaded.
type Plugin struct {
	Descriptor
	Language Language
	// Path is its file; it is empty if it is in none.
	Path     string
	LoadedAt time.Time
	// Digest is the SHA-256 digest of its bytes in hexadecimal.
	Digest  string
	module  Module
	members []*member
	// roles are those of the server that loaded it.
	roles []role.Role
	// released says that the module is closed although the plugin is still listed.
	released atomic.Bool
	// rank is its place in the list.
	rank int
	// source is what it was loaded from, to load it anew if it dies; dead says that it did.
	source Source
	dead   atomic.Bool
	// left is closed when the plugin goes away.
	left    chan struct{}
	leaving sync.Once
	// running is how many calls of all extensions are under way.
	running   atomic.Int64
	excess    excess
	timetable *Timetable
	// deliveries and granted are those of the manager.
	deliveries *deliveries
	granted    *Granted
	// renewals is how often it died and was loaded anew before.
	renewals int
	// trial says that it is a candidate beside another version.
	trial atomic.Bool
	// shadow says that it is a candidate that gets copies of calls; host is its own, nil if it has none.
	shadow bool
	host   Host
	// meter counts its calls while two versions run beside each other; nil otherwise.
	meter atomic.Pointer[meter]
}

// File returns the name of the file that the plugin was loaded from, and its bytes, which must not be changed.
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

// Memory is how many bytes the plugin holds; 0 is unknown.
func (p *Plugin) Memory() int64 {
	if p.released.Load() {
		return 0
	}
	return p.module.Memory()
}

// CPU is how long the plugin used a processor; 0 is unknown.
func (p *Plugin) CPU() time.Duration {
	if m, ok := p.module.(Measured); ok && !p.released.Load() {
		return m.CPU()
	}
	return 0
}

// Allocated is how many bytes the plugin was given, whatever became of them; 0 is unknown.
func (p *Plugin) Allocated() int64 {
	if m, ok := p.module.(Measured); ok && !p.released.Load() {
		return m.Allocated()
	}
	return 0
}

// Shared is what the cluster knows of the plugin; nil if it is one of this node alone.
func (p *Plugin) Shared() *Shared { return p.source.Shared }

// isUpload reports whether an administrator added the plugin to this node: it is neither from the folder nor from the
// network nor from the cluster.
func (p *Plugin) isUpload() bool {
	return p.source.Shared == nil && p.source.rank == 0 && p.source.Path == ""
}

// Renewals is how often the plugin died and was loaded anew.
func (p *Plugin) Renewals() int { return p.renewals }

// Missing returns what the plugin asks for and was not granted.
func (p *Plugin) Missing() Grants { return p.granted.Missing(p.Descriptor) }

// Allowed returns what the plugin may do.
func (p *Plugin) Allowed() Grants { return p.granted.Allowed(p.Descriptor) }

// Debugger is where debuggers attach to the plugin; the zero value if they cannot.
func (p *Plugin) Debugger() Debugger {
	if d, ok := p.module.(Debuggable); ok {
		return d.Debugger()
	}
	return Debugger{}
}

// Excess says what the plugin uses more of than it may, and what is done about it; "" is nothing.
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
