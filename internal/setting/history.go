// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"example.org/app/internal/store"
)

// Revision is one change of the cluster-wide settings.
type Revision struct {
	Revision int64
	AdminID  int64
	Date     time.Time
	Action   string
	Changes  []Change
}

// values are the values set by the cluster: properties by path, and settings of plugins.
type values struct {
	overrides map[string]any
	plugins   pluginValues
}

// stored is a revision with the values after it.
type stored struct {
	store.SettingRevision
	values
}

func decode(r store.SettingRevision) (stored, error) {
	s := stored{SettingRevision: r}
	if err := decodeJSON(r.Overrides, &s.overrides); err != nil {
		return s, fmt.Errorf("setting revision %d: %w", r.Revision, err)
	}
	if ofPlugins, ok := s.overrides[pluginsKey]; ok {
		delete(s.overrides, pluginsKey)
		var err error
		if s.plugins, err = newPluginValues(ofPlugins); err != nil {
			return s, fmt.Errorf("setting revision %d: %w", r.Revision, err)
		}
	}
	return s, nil
}

// decodeJSON decodes numbers as json.Number.
func decodeJSON(text string, v any) error {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	return dec.Decode(v)
}

// newest returns the current revision, or number 0 without overrides if there is none.
func newest(ctx context.Context, r store.Reader) (stored, error) {
	found, err := store.FindSettingRevisions(ctx, r, store.Page{Limit: 1})
	if err != nil {
		return stored{}, err
	}
	if len(found) == 0 {
		return stored{values: values{overrides: map[string]any{}}}, nil
	}
	return decode(found[0])
}

func insert(ctx context.Context, tx store.Tx, revision, adminID int64, action string, v values, changes []Change) error {
	all := maps.Clone(v.overrides)
	if len(v.plugins) > 0 {
		all[pluginsKey] = v.plugins
	}
	o, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode settings: %w", err)
	}
	if changes == nil {
		changes = []Change{}
	}
	c, err := json.Marshal(changes)
	if err != nil {
		return fmt.Errorf("encode changes: %w", err)
	}
	err = store.InsertSettingRevision(ctx, tx, store.SettingRevision{
		Revision: revision, AdminID: adminID, ChangeDate: time.Now(), Action: action, Overrides: string(o), Changes: string(c),
	})
	if err != nil {
		return err
	}
	return store.DeleteSettingRevisions(ctx, tx, revision-keptRevisions)
}

// History returns changes, the newest first, and their total number.
func (s *Settings) History(ctx context.Context, limit, offset int) (total int64, revisions []Revision, err error) {
	err = s.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountSettingRevisions(ctx, r); err != nil {
			return err
		}
		found, err := store.FindSettingRevisions(ctx, r, store.Page{Limit: limit, Offset: offset})
		if err != nil {
			return err
		}
		revisions = make([]Revision, len(found))
		for i, f := range found {
			revisions[i] = Revision{Revision: f.Revision, AdminID: f.AdminID, Date: f.ChangeDate, Action: f.Action}
			if err := decodeJSON(f.Changes, &revisions[i].Changes); err != nil {
				return fmt.Errorf("setting revision %d: %w", f.Revision, err)
			}
		}
		return nil
	})
	return total, revisions, err
}
