// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// part is a running part. Either function may be nil.
type part struct {
	name string
	// run runs until its context ends. An error stops the process.
	run func(context.Context) error
	// stop stops the part; its context bounds how long it may wait.
	stop func(context.Context) error
}

// lifecycle owns the goroutines of the parts and stops them in reverse order.
type lifecycle struct {
	parts  []running
	failed chan error
}

type running struct {
	part
	cancel context.CancelFunc
	done   chan struct{}
}

// add starts a part.
func (l *lifecycle) add(p part) {
	ctx, cancel := context.WithCancel(context.Background())
	r := running{part: p, cancel: cancel, done: make(chan struct{})}
	l.parts = append(l.parts, r)
	if p.run == nil {
		close(r.done)
		return
	}
	go func() {
		defer close(r.done)
		if err := p.run(ctx); err != nil {
			select {
			case l.failed <- fmt.Errorf("%s: %w", p.name, err):
			default: // The process is already stopping.
			}
		}
	}()
}

// stop stops all parts, one after the other, and waits for their goroutines.
func (l *lifecycle) stop(ctx context.Context) error {
	var errs []error
	for _, r := range slices.Backward(l.parts) {
		if r.part.stop != nil {
			if err := r.part.stop(ctx); err != nil {
				errs = append(errs, fmt.Errorf("stop %s: %w", r.name, err))
			}
		}
		r.cancel()
		<-r.done
	}
	return errors.Join(errs...)
}
