// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/recording/event"
)

// The possible settings of an event. Its type names those that it has.
const (
	settingEnabled    = "enabled"
	settingThreshold  = "threshold"
	settingPeriod     = "period"
	settingStackTrace = "stackTrace"
	settingThrottle   = "throttle"
)

// The templates.
const (
	templateKey     = "template"
	TemplateDefault = "default"
	TemplateProfile = "profile"
)

// An eventSetting defines whether and when events of a type are recorded.
type eventSetting struct {
	enabled    bool
	threshold  time.Duration
	period     time.Duration
	stackTrace bool
	// throttle is the maximum number of events per second; 0 means no limit.
	throttle int64
}

// Throttles of the templates for events that come as often as requests do.
const (
	throttleDefault = 100
	throttleProfile = 300
)

// defaults are the available settings of an event type, with their values in the templates.
type defaults struct {
	// settings are those that callers may set, besides enabled.
	settings []string
	// def and profile are those of the templates.
	def, profile eventSetting
}

// every is for periodic events.
func every(def, profile time.Duration) defaults {
	return defaults{[]string{settingPeriod}, eventSetting{enabled: true, period: def}, eventSetting{enabled: true, period: profile}}
}

// longerThan is for events with a minimum duration.
func longerThan(def, profile time.Duration) defaults {
	return defaults{[]string{settingThreshold}, eventSetting{enabled: true, threshold: def}, eventSetting{enabled: true, threshold: profile}}
}

// enabledIn is for events that can only be enabled.
func enabledIn(def, profile bool) defaults {
	return defaults{nil, eventSetting{enabled: def}, eventSetting{enabled: profile}}
}

// onlyInProfile disables the events in the template default.
func (d defaults) onlyInProfile() defaults {
	d.def.enabled = false
	return d
}

// asOftenAsRequests is for events that may occur with each request, so that a slow server does not
// become slower by recording everything.
func asOftenAsRequests(stackTrace bool) defaults {
	d := longerThan(20*time.Millisecond, time.Millisecond)
	d.settings = append(d.settings, settingStackTrace, settingThrottle)
	d.def.stackTrace, d.profile.stackTrace = stackTrace, stackTrace
	d.def.throttle, d.profile.throttle = throttleDefault, throttleProfile
	return d
}

// settable are the settings of all event types, by name.
var settable = func() map[string]defaults {
	all := map[string]defaults{executionTrace: enabledIn(false, false)}
	for _, t := range eventTypes {
		if !t.auxiliary {
			all[t.Name] = t.defaults
		}
	}
	return all
}()

// settings are the settings of all events of a recording, by name.
type settings map[string]eventSetting

// parseSettings merges the custom settings of a recording into those of the template that they
// name.
func parseSettings(custom map[string]string) (settings, error) {
	s := settings{}
	template := TemplateDefault
	if t, ok := custom[templateKey]; ok {
		template = t
	}
	for name, d := range settable {
		switch template {
		case TemplateDefault:
			s[name] = d.def
		case TemplateProfile:
			s[name] = d.profile
		default:
			return nil, badSetting(templateKey, "%q is no template; the templates are default and profile", clip(template))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(custom)) {
		if key == templateKey {
			continue
		}
		if err := s.set(key, custom[key]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// set applies one setting such as app.SqlTransaction#threshold.
func (s settings) set(key, value string) error {
	name, setting, ok := strings.Cut(key, "#")
	if !ok {
		return badSetting(key, "a setting is \"template\" or has the form <event>#<setting>")
	}
	d, ok := settable[name]
	if !ok {
		return badSetting(key, "there is no event %q", clip(name))
	}
	known := append([]string{settingEnabled}, d.settings...)
	if !slices.Contains(known, setting) {
		return badSetting(key, "the event %s has the settings %s, but not %q", name, strings.Join(known, ", "), clip(setting))
	}
	e := s[name]
	var err error
	switch setting {
	case settingEnabled:
		e.enabled, err = parseBool(value)
	case settingStackTrace:
		e.stackTrace, err = parseBool(value)
	case settingThrottle:
		e.throttle, err = parseThrottle(value)
	case settingThreshold:
		e.threshold, err = parseSpan(value)
	case settingPeriod:
		if e.period, err = parseSpan(value); err == nil && e.period < time.Millisecond {
			err = fmt.Errorf("%q must be at least 1 ms", clip(value))
		}
	}
	if err != nil {
		return badSetting(key, "%s", err)
	}
	s[name] = e
	return nil
}

// badSetting returns the error for a setting.
func badSetting(key, format string, args ...any) error {
	return apierr.New(apierr.IllegalArgument, "customSettings: %q: %s", clip(key), fmt.Sprintf(format, args...))
}

func parseBool(value string) (bool, error) {
	switch value {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q must be true or false", clip(value))
}

// parseThrottle parses a rate such as "100/s"; "off" means no limit.
func parseThrottle(value string) (int64, error) {
	if value == "off" {
		return 0, nil
	}
	digits, ok := strings.CutSuffix(strings.ReplaceAll(value, " ", ""), "/s")
	n, err := strconv.ParseInt(digits, 10, 32)
	if !ok || err != nil || n < 1 {
		return 0, fmt.Errorf("%q must be off or a rate such as 100/s", clip(value))
	}
	return n, nil
}

// units are those of durations in the settings of JFR.
var units = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// maxSpan bounds durations in settings and recordings, so that sums do not overflow.
const maxSpan = 100 * 365 * 24 * time.Hour

// parseSpan reads a duration such as "20 ms" or "20ms".
func parseSpan(value string) (time.Duration, error) {
	text := strings.TrimSpace(value)
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	unit, ok := units[strings.TrimSpace(text[digits:])]
	if err != nil || !ok || n > int64(maxSpan/unit) {
		return 0, fmt.Errorf("%q must be a duration such as 20 ms; the units are ns, us, ms, s, m, h and d", clip(value))
	}
	return time.Duration(n) * unit, nil
}

// merge returns settings that satisfy all recordings.
func merge(all []settings) settings {
	merged := settings{}
	for _, s := range all {
		for name, e := range s {
			if !e.enabled {
				continue
			}
			m, ok := merged[name]
			if !ok {
				merged[name] = e
				continue
			}
			if m.throttle == 0 || e.throttle == 0 {
				m.throttle = 0 // One of them wants all.
			} else {
				m.throttle = max(m.throttle, e.throttle)
			}
			m.threshold, m.period, m.stackTrace = min(m.threshold, e.threshold), min(m.period, e.period), m.stackTrace || e.stackTrace
			merged[name] = m
		}
	}
	return merged
}

// thresholds returns the thresholds of the events of the server's parts.
func (s settings) thresholds() (t [event.Kinds]time.Duration) {
	for k, own := range ownTypes {
		t[k] = event.Never
		if e, ok := s[own.Name]; ok && e.enabled {
			t[k] = e.threshold
		}
	}
	return t
}

// allow grants the events of the next second.
func (s settings) allow() {
	for k, own := range ownTypes {
		n := s[own.Name].throttle
		if n == 0 {
			n = math.MaxInt64
		}
		event.Allow(event.Kind(k), n)
	}
}

// clip shortens input for display.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
