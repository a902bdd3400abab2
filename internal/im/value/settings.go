// SPDX-License-Identifier: Apache-2.0

package value

import (
	"maps"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

// Stored settings have their stored names and the types of decoded JSON, with json.Number; users
// see source names.

// Merge merges wanted settings into the stored ones and reports whether that is a change. It
// returns an error if the rules forbid it, and does not modify the stored settings. field is the
// name of the user's parameter, for errors.
func Merge(field string, stored, wanted map[string]any, rules config.Settings) (merged map[string]any, changed bool, err error) {
	merged = maps.Clone(stored)
	if merged == nil {
		merged = make(map[string]any)
	}
	// In order, so that the reported error is deterministic.
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		allowed := find(name, rules)
		if allowed == nil {
			if rules.IgnoreUnknownSettingsOnUpsert {
				continue
			}
			return nil, false, errUnknown(field, name)
		}
		v, err := Check(field+"."+name, wanted[name], allowed.Value)
		if err != nil {
			return nil, false, err
		}
		old, exists := merged[allowed.Stored()]
		if exists && Equal(Restore(old, &allowed.Value), v) {
			continue
		}
		if exists && allowed.Immutable {
			return nil, false, apierr.New(apierr.IllegalArgument, "%s.%s: cannot be changed once it is set", field, name)
		}
		merged[allowed.Stored()], changed = v, true
	}
	return merged, changed, nil
}

// Remove removes the settings with the names, or all removable ones if there are no names, and
// reports whether that is a change. It returns an error if the rules forbid it.
func Remove(stored map[string]any, names []string, rules config.Settings) (rest map[string]any, changed bool, err error) {
	if len(names) == 0 {
		rest = make(map[string]any)
		for _, allowed := range rules.AllowedSettings {
			if v, exists := stored[allowed.Stored()]; exists && !allowed.Deletable {
				rest[allowed.Stored()] = v
			}
		}
		return rest, len(rest) < len(stored), nil
	}
	rest = maps.Clone(stored)
	for _, name := range names {
		allowed := find(name, rules)
		switch {
		case allowed == nil && rules.IgnoreUnknownSettingsOnDelete:
		case allowed == nil:
			return nil, false, errUnknown("settings", name)
		case !allowed.Deletable:
			return nil, false, apierr.New(apierr.IllegalArgument, "settings.%s: cannot be removed", name)
		default:
			delete(rest, allowed.Stored())
		}
	}
	return rest, len(rest) < len(stored), nil
}

// Show converts stored settings to their public form: those with the names, or all if there are no
// names. Settings without rule keep their stored name.
func Show(stored map[string]any, names []string, rules config.Settings) map[string]any {
	shown := make(map[string]any, len(stored))
	rest := maps.Clone(stored)
	for i := range rules.AllowedSettings {
		allowed := &rules.AllowedSettings[i]
		if v, exists := rest[allowed.Stored()]; exists {
			shown[allowed.SourceName] = Restore(v, &allowed.Value)
			delete(rest, allowed.Stored())
		}
	}
	for name, v := range rest {
		if _, exists := shown[name]; !exists {
			shown[name] = Restore(v, nil)
		}
	}
	if len(names) > 0 {
		maps.DeleteFunc(shown, func(name string, _ any) bool { return !slices.Contains(names, name) })
	}
	return shown
}

// MergeAttributes is Merge for user-defined attributes.
func MergeAttributes(stored, wanted map[string]any, rules config.UserDefinedAttributes) (merged map[string]any, changed bool, err error) {
	return Merge("userDefinedAttributes", stored, wanted, rules.Settings())
}

// ShowAttributes is Show for user-defined attributes.
func ShowAttributes(stored map[string]any, rules config.UserDefinedAttributes) map[string]any {
	return Show(stored, nil, rules.Settings())
}

func find(name string, rules config.Settings) *config.AllowedSetting {
	for i := range rules.AllowedSettings {
		if rules.AllowedSettings[i].SourceName == name {
			return &rules.AllowedSettings[i]
		}
	}
	return nil
}

func errUnknown(field, name string) error {
	return apierr.New(apierr.IllegalArgument, "%s.%s: this name is not allowed", field, name)
}
