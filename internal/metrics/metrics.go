// SPDX-License-Identifier: Apache-2.0

// Package metrics contains the metrics of a running server: one registry, in which every metric is
// declared once, and four representations of it (structured snapshot, list of names, CSV and
// OpenMetrics text), all derived from the same gathering and therefore consistent.
//
// The package does not serve HTTP, does not decide who may read a metric and does not know the
// packages that record values: they receive their instruments (Service, Gateway, HTTP, RPC) and
// call them.
package metrics

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// BuildInfo identifies the running binary. Empty fields are published as "unknown".
type BuildInfo struct {
	Version  string
	Revision string
}

// Registry is where metrics are declared and read. It wraps a private Prometheus registry, so
// several registries can exist in one process without sharing anything. All methods are safe for
// concurrent use.
//
// Metrics are declared at startup with constant arguments: a duplicate or malformed declaration is
// a programming error and panics, like a duplicate HTTP route.
type Registry struct {
	prom    *prometheus.Registry
	elapsed func() time.Duration

	mu       sync.RWMutex
	families map[string]*family     // by dotted name
	exposed  map[string]exposedName // by Prometheus family name

	service *Service
	gateway *Gateway
	http    *HTTP
	rpc     *RPC
	node    *Node
	plugins *Plugins
}

// exposedName maps a Prometheus family to its declared metric. A timer has two families: its
// histogram and the gauge with its maximum.
type exposedName struct {
	family *family
	isMax  bool
}

// Option configures New.
type Option func(*Registry)

// WithClock sets the clock that expires the maxima of timers and the cached system readings.
func WithClock(now func() time.Time) Option {
	return func(r *Registry) {
		start := now()
		r.elapsed = func() time.Duration { return now().Sub(start) }
	}
}

// New returns a registry that already declares the instruments of all packages, so that each name
// exists, with a zero value, from the start. RegisterProcess adds the readings of the process and
// the system.
func New(info BuildInfo, options ...Option) *Registry {
	start := time.Now()
	r := &Registry{
		prom:     prometheus.NewRegistry(),
		elapsed:  func() time.Duration { return time.Since(start) },
		families: make(map[string]*family),
		exposed:  make(map[string]exposedName),
	}
	for _, option := range options {
		option(r)
	}
	r.GaugeVec(Declaration{
		Name:        "app.build.info",
		Description: "Constant 1; the tags identify the running binary.",
		Tags:        []string{"version", "revision", "go"},
	}).With(orUnknown(info.Version), orUnknown(info.Revision), runtime.Version()).Set(1)
	r.service = newService(r)
	r.gateway = newGateway(r)
	r.http = newHTTP(r)
	r.rpc = newRPC(r)
	r.node = newNode(r)
	r.plugins = newPlugins(r)
	return r
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// Names returns the dotted names of all declared metrics in ascending order, including those that
// have no series yet.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.families))
}

// declare validates a declaration and reserves its names.
func (r *Registry) declare(d Declaration, kind Type) *family {
	f, err := newFamily(d, kind)
	if err != nil {
		panic(fmt.Sprintf("metrics: declare %q: %v", d.Name, err))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.families[d.Name]; taken {
		panic(fmt.Sprintf("metrics: declare %q: the name is declared already", d.Name))
	}
	for _, name := range []string{f.exposition, f.maxExposition} {
		if other, taken := r.exposed[name]; taken && name != "" {
			panic(fmt.Sprintf("metrics: declare %q: its exposition name %q belongs to %q", d.Name, name, other.family.Name))
		}
	}
	r.families[d.Name] = f
	r.exposed[f.exposition] = exposedName{family: f}
	if f.maxExposition != "" {
		r.exposed[f.maxExposition] = exposedName{family: f, isMax: true}
	}
	return f
}

// register adds the collector of a declared family; an error means that two declarations conflict.
func (r *Registry) register(c prometheus.Collector, name string) {
	if err := r.prom.Register(c); err != nil {
		panic(fmt.Sprintf("metrics: register %q: %v", name, err))
	}
}
