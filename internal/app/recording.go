// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
	"example.org/app/internal/recording"
)

// start starts the flight recorder.
func (p *recordings) start(context.Context) (err error) {
	p.recorder, err = recording.Open(recording.Options{
		Folder: strings.ReplaceAll(p.Process.opts.Config.FlightRecorder.Dir, "@ROLE", p.Process.name()), Logger: p.Logs.logger, Facts: p.facts,
		Limits: func() recording.Limits {
			c := p.Process.live.Current().FlightRecorder
			return recording.Limits{
				MaxTotalBytes: c.MaxTotalBytes, MaxRecordings: int(c.MaxRecordings),
				Retention: time.Duration(c.ClosedRecordingRetentionPeriod) * time.Second,
				Continuous: recording.Continuous{
					Enabled: c.Continuous.Enabled, MaxAge: time.Duration(c.Continuous.MaxAgeSeconds) * time.Second,
					MaxSize: c.Continuous.MaxSizeBytes, MaxDumps: int(c.Continuous.MaxDumps),
				},
			}
		},
	})
	if err != nil {
		return err
	}
	cancel := p.Process.live.Subscribe(func(*config.Config, *config.Config) { p.recorder.Look() })
	p.Process.lifecycle.add(part{name: "flight recorder", run: func(ctx context.Context) error {
		defer cancel()
		return p.recorder.Run(ctx)
	}})
	return nil
}

// facts returns the effective settings, with secrets masked, and the program's version.
func (p *recordings) facts() []recording.Fact {
	facts := []recording.Fact{
		{Key: "version", Value: version},
		{Key: "commit", Value: commit},
		{Key: "buildTime", Value: buildTime},
		{Key: "go.version", Value: runtime.Version()},
		{Key: "roles", Value: fmt.Sprint(p.Process.opts.Roles)},
	}
	return appendFacts(facts, "app", p.Process.live.Current().Select(func(p property.Property) bool { return !p.Hidden }))
}

// appendFacts appends the leaves of a tree of settings in order.
func appendFacts(facts []recording.Fact, path string, value any) []recording.Fact {
	switch v := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			facts = appendFacts(facts, path+"."+name, v[name])
		}
		return facts
	case []any:
		for i, element := range v {
			facts = appendFacts(facts, fmt.Sprintf("%s[%d]", path, i), element)
		}
		return facts
	default:
		return append(facts, recording.Fact{Key: path, Value: fmt.Sprint(v)})
	}
}
