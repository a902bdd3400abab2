// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"time"

	"example.org/app/internal/config"
)

// bounds are the limits of a call.
type bounds struct {
	// time is its time limit.
	time time.Duration
	// calls is the maximum number of running calls of the plugin; 0 means no limit.
	calls int64
}

// boundsOf returns the limits of a call.
func (cs *Calls) boundsOf(method *Method) bounds {
	s := cs.settings()
	return bounds{
		time:  time.Duration(cmp.Or(settingsOf(&s, method.Point).TimeoutMillis, s.CallTimeoutMillis)) * time.Millisecond,
		calls: int64(s.Limits.ConcurrentCalls),
	}
}

// failureOf returns the reaction to a failed call.
func (cs *Calls) failureOf(method *Method) Failure {
	s := cs.settings()
	switch settingsOf(&s, method.Point).OnFailure {
	case config.FailureRefuse:
		return Refuse
	case config.FailureIgnore:
		return Ignore
	}
	return method.Failure
}

// settingsOf returns the settings of a point.
func settingsOf(s *config.Plugin, p *Point) config.ExtensionPoint {
	if p.settings == nil {
		return config.ExtensionPoint{}
	}
	return p.settings(s.ExtensionPoints)
}
