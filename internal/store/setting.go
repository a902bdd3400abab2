// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// RevisionSetting is the revision of the cluster-wide settings.
const RevisionSetting = "setting"

// A SettingRevision is one change of the cluster-wide settings. Overrides and Changes are JSON texts that the store
// does not look into.
type SettingRevision struct {
	Revision   int64
	AdminID    int64
	ChangeDate time.Time
	Action     string
	Overrides  string
	Changes    string
}

type settingRevisionRow struct {
	bun.BaseModel `bun:"table:setting_revision,alias:s"`
	Revision      int64  `bun:"revision,pk"`
	AdminID       int64  `bun:"admin_id"`
	ChangeDate    int64  `bun:"change_date"`
	Action        string `bun:"action"`
	Overrides     string `bun:"overrides"`
	Changes       string `bun:"changes"`
}

func (row settingRevisionRow) revision() SettingRevision {
	return SettingRevision{
		Revision: row.Revision, AdminID: row.AdminID, ChangeDate: time.UnixMilli(row.ChangeDate).UTC(), Action: row.Action,
		Overrides: row.Overrides, Changes: row.Changes,
	}
}

// InsertSettingRevision stores a change. A revision that exists is an ErrDuplicateKey.
func InsertSettingRevision(ctx context.Context, tx Tx, r SettingRevision) error {
	row := settingRevisionRow{
		Revision: r.Revision, AdminID: r.AdminID, ChangeDate: r.ChangeDate.UnixMilli(), Action: r.Action,
		Overrides: r.Overrides, Changes: r.Changes,
	}
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return fmt.Errorf("insert setting revision %d: %w", r.Revision, err)
	}
	return BumpRevision(ctx, tx, RevisionSetting)
}

// FindSettingRevisions returns changes, the newest first.
func FindSettingRevisions(ctx context.Context, r Reader, page Page) ([]SettingRevision, error) {
	var rows []settingRevisionRow
	query := r.NewSelect().Model(&rows).OrderExpr("s.revision DESC")
	if page.Limit > 0 {
		query = query.Limit(int64(page.Limit)).Offset(int64(max(page.Offset, 0)))
	}
	if err := query.Scan(ctx); err != nil {
		return nil, fmt.Errorf("find setting revisions: %w", err)
	}
	found := make([]SettingRevision, len(rows))
	for i, row := range rows {
		found[i] = row.revision()
	}
	return found, nil
}

// FindSettingRevision returns one change. One that does not exist is an ErrNotFound.
func FindSettingRevision(ctx context.Context, r Reader, revision int64) (SettingRevision, error) {
	var rows []settingRevisionRow
	err := r.NewSelect().Model(&rows).Where("s.revision = ?", revision).Scan(ctx)
	if err == nil && len(rows) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return SettingRevision{}, fmt.Errorf("find setting revision %d: %w", revision, err)
	}
	return rows[0].revision(), nil
}

// CountSettingRevisions returns how many changes there are.
func CountSettingRevisions(ctx context.Context, r Reader) (int64, error) {
	n, err := r.NewSelect().Model((*settingRevisionRow)(nil)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count setting revisions: %w", err)
	}
	return int64(n), nil
}

// DeleteSettingRevisions forgets the changes before a revision.
func DeleteSettingRevisions(ctx context.Context, tx Tx, before int64) error {
	if _, err := tx.NewDelete().Model((*settingRevisionRow)(nil)).Where("revision < ?", before).Exec(ctx); err != nil {
		return fmt.Errorf("delete setting revisions before %d: %w", before, err)
	}
	return nil
}
