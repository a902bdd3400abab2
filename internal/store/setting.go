// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// RevisionSetting is the revision of the cluster-wide settings.
const RevisionSetting = "setting"

// A SettingRevision is one change of the cluster-wide settings. Overrides is a JSON text that is
// opaque to the store; Changes is a JSON list of objects with property, before and after.
type SettingRevision struct {
	Revision   int64
	AdminID    int64
	ChangeDate time.Time
	Action     string
	Overrides  string
	Changes    string
}

var settingRevisions = newTable("setting_revision", "revision admin_id change_date action overrides changes", func(r *SettingRevision) []any {
	return []any{&r.Revision, &r.AdminID, (*millis)(&r.ChangeDate), &r.Action, &r.Overrides, &r.Changes}
})

// InsertSettingRevision stores a change. It returns ErrDuplicateKey if a revision exists.
func InsertSettingRevision(ctx context.Context, tx Tx, r SettingRevision) error {
	if err := settingRevisions.insert(ctx, tx, r); err != nil {
		return fmt.Errorf("insert setting revision %d: %w", r.Revision, err)
	}
	if j := journalOf(tx); j != nil {
		c, err := r.change()
		if err != nil {
			return err
		}
		j.note(c)
	}
	return BumpRevision(ctx, tx, RevisionSetting)
}

// change returns the revision in the form of a journal.
func (r SettingRevision) change() (Change, error) {
	c := Change{Record: "setting", Action: ActionUpdate, Key: Values{{"revision", r.Revision}}}
	var list []struct {
		Property      string
		Before, After any
	}
	decoder := json.NewDecoder(strings.NewReader(r.Changes))
	decoder.UseNumber()
	if err := decoder.Decode(&list); err != nil {
		return c, fmt.Errorf("read the changes of setting revision %d: %w", r.Revision, err)
	}
	for _, p := range list {
		c.Before.Set(p.Property, cutJSON(p.Before))
		c.After.Set(p.Property, cutJSON(p.After))
	}
	return c, nil
}

// FindSettingRevisions returns changes, the newest first.
func FindSettingRevisions(ctx context.Context, r Reader, page Page) ([]SettingRevision, error) {
	if page.Limit <= 0 {
		page = Page{}
	}
	found, err := settingRevisions.find(ctx, r, nil, page, "t.revision DESC")
	if err != nil {
		return nil, fmt.Errorf("find setting revisions: %w", err)
	}
	return found, nil
}

// FindSettingRevision returns one change. It returns ErrNotFound if there is none.
func FindSettingRevision(ctx context.Context, r Reader, revision int64) (SettingRevision, error) {
	found, err := settingRevisions.find(ctx, r, where("t.revision = ?", revision), Page{})
	if err == nil && len(found) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return SettingRevision{}, fmt.Errorf("find setting revision %d: %w", revision, err)
	}
	return found[0], nil
}

// CountSettingRevisions returns how many changes there are.
func CountSettingRevisions(ctx context.Context, r Reader) (int64, error) {
	return countRows(ctx, r, settingRevisions.name, nil)
}

// DeleteSettingRevisions deletes the changes before a revision.
func DeleteSettingRevisions(ctx context.Context, tx Tx, before int64) error {
	_, err := deleteRows(ctx, tx, settingRevisions.name, where("t.revision < ?", before))
	return err
}
