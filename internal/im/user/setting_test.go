// SPDX-License-Identifier: Apache-2.0

package user

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
)

// allow permits integer settings with these names. The first is immutable, the second cannot be
// removed.
func (f *fixture) allow(names ...string) {
	for i, name := range names {
		f.rules.Settings.AllowedSettings = append(f.rules.Settings.AllowedSettings, config.AllowedSetting{
			SourceName: name, StoredName: "stored " + name, Immutable: i == 0, Deletable: i != 1,
			Value: config.ValueRule{Type: "INT", ValueLimits: config.ValueLimits{IntValue: config.IntValueRule{Max: 1000}}},
		})
	}
}

func TestSettings(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		f := newFixture(t, db, nil)
		f.allow("fixed", "kept", "free")
		want := func(what string, date time.Time, settings map[string]any) {
			t.Helper()
			got, changed, err := f.FindSettings(t.Context(), 1, nil, nil)
			if err != nil || !reflect.DeepEqual(got, settings) || !changed.Equal(date) {
				t.Errorf("%s: the settings are %v of %v, want %v of %v: %v", what, got, changed, settings, date, err)
			}
		}
		update := func(what string, settings map[string]any, changed bool, code apierr.Code) {
			t.Helper()
			got, err := f.UpdateSettings(t.Context(), 1, settings)
			if wantCode(t, what, err, code); got != changed {
				t.Errorf("%s: changed %v", what, got)
			}
		}
		remove := func(what string, names []string, changed bool, code apierr.Code) {
			t.Helper()
			got, err := f.DeleteSettings(t.Context(), 1, names)
			if wantCode(t, what, err, code); got != changed {
				t.Errorf("%s: deleted %v", what, got)
			}
		}
		want("nothing", time.Time{}, nil)
		remove("nothing", nil, false, 0)
		update("two", map[string]any{"fixed": int32(1), "free": int32(2)}, true, 0)
		want("two", beginning, map[string]any{"fixed": int32(1), "free": int32(2)})
		f.clock = f.clock.Add(time.Second)
		update("the same", map[string]any{"free": int32(2)}, false, 0)
		update("all or nothing", map[string]any{"free": int32(3), "fixed": int32(3)}, false, apierr.IllegalArgument)
		update("unknown", map[string]any{"free": int32(3), "x": int32(3)}, false, apierr.IllegalArgument)
		update("too large", map[string]any{"free": int32(1001)}, false, apierr.IllegalArgument)
		want("refused", beginning, map[string]any{"fixed": int32(1), "free": int32(2)})
		update("another", map[string]any{"free": int32(3), "kept": int32(4)}, true, 0)
		want("another", f.clock, map[string]any{"fixed": int32(1), "free": int32(3), "kept": int32(4)})
		remove("kept", []string{"free", "kept"}, false, apierr.IllegalArgument)
		remove("unknown", []string{"free", "x"}, false, apierr.IllegalArgument)
		remove("one", []string{"free"}, true, 0)
		remove("again", []string{"free"}, false, 0)
		want("one", f.clock, map[string]any{"fixed": int32(1), "kept": int32(4)})

		for what, test := range map[string]struct {
			names []string
			since *time.Time
			count int
		}{
			"names":     {[]string{"kept", "free"}, nil, 1},
			"no name":   {[]string{"free"}, nil, 0},
			"since":     {nil, &f.clock, 2},
			"no change": {nil, new(f.clock.Add(time.Millisecond)), 0},
		} {
			if got, _, err := f.FindSettings(t.Context(), 1, test.names, test.since); err != nil || len(got) != test.count {
				t.Errorf("%s: found %v: %v", what, got, err)
			}
		}
		remove("all", nil, true, 0)
		want("all", f.clock, map[string]any{"kept": int32(4)})

		// They are deleted with the user.
		f.create(Creation{ID: new(int64(1))})
		if _, err := f.Delete(t.Context(), []int64{1}, new(false)); err != nil {
			t.Fatal(err)
		}
		want("deleted user", time.Time{}, nil)
	})
}

// TestSettingsRace proves that concurrent changes are not lost.
func TestSettingsRace(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		f := newFixture(t, db, nil)
		var names []string
		for i := range 12 {
			names = append(names, fmt.Sprint("s", i))
		}
		f.allow(names...)
		var all sync.WaitGroup
		for i, name := range names {
			all.Go(func() {
				if _, err := f.UpdateSettings(t.Context(), 1, map[string]any{name: int32(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got, _, err := f.FindSettings(t.Context(), 1, nil, nil); err != nil || len(got) != len(names) {
			t.Errorf("the settings are %v: %v", got, err)
		}
	})
}

func wantCode(t *testing.T, what string, err error, want apierr.Code) {
	t.Helper()
	got := apierr.Code(0)
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		got = e.Code
	}
	if got != want || (err != nil) != (want != 0) {
		t.Errorf("%s: the error is %v, want %v", what, err, want)
	}
}
