// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"time"

	"example.org/app/internal/config"
)

// bounds are those of a call.
type bounds struct {
	// time is how long it may take.
	time time.Duration
	// calls is how many of the plugin may be under way at once; 0 is any number.
	calls int64
}

// boundsOf are the bounds of a call.
func (cs *Calls) boundsOf(method *Method) bounds {
	s := cs.settings()
	return bounds{
		time:  time.Duration(cmp.Or(settingsOf(&s, method.Point).TimeoutMillis, s.CallTimeoutMillis)) * time.Millisecond,
		calls: int64(s.Limits.ConcurrentCalls),
	}
}

// failureOf is what a failure of a call means.
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

// settingsOf are the settings of a point.
func settingsOf(s *config.Plugin, p *Point) config.ExtensionPoint {
	if p.settings == nil {
		return config.ExtensionPoint{}
	}
	return p.settings(s.ExtensionPoints)
}
