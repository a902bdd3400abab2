// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// An AdminToken is a credential that an administrator made for a program or that a login made for a session. The token
// itself is not stored.
type AdminToken struct {
	ID      int64
	OwnerID int64
	// Kind is opaque to the store.
	Kind string
	Name string
	// Hash is a digest of the token; it is unique.
	Hash []byte
	// Permissions are names; nil means all those of the owner.
	Permissions []string
	// Networks are prefixes of addresses; none means every address.
	Networks       []string
	CreationDate   time.Time
	ExpirationDate time.Time
	// LastUseDate is zero if the token was never used.
	LastUseDate time.Time
}

// An AdminTokenFilter selects tokens, by the rules of AdminFilter.
type AdminTokenFilter struct {
	IDs      []int64
	OwnerIDs []int64
	Kinds    []string
}

type adminTokenRow struct {
	bun.BaseModel  `bun:"table:admin_token,alias:t"`
	ID             int64          `bun:"id,pk"`
	OwnerID        int64          `bun:"owner_id"`
	Kind           string         `bun:"kind"`
	Name           string         `bun:"name"`
	Hash           []byte         `bun:"hash"`
	Permissions    sql.NullString `bun:"permissions"`
	Networks       string         `bun:"networks"`
	CreationDate   int64          `bun:"creation_date"`
	ExpirationDate int64          `bun:"expiration_date"`
	LastUseDate    sql.NullInt64  `bun:"last_use_date"`
}

// InsertAdminToken stores a new token. An owner that does not exist is an ErrForeignKey.
func InsertAdminToken(ctx context.Context, tx Tx, t AdminToken) error {
	row := adminTokenRow{
		ID: t.ID, OwnerID: t.OwnerID, Kind: t.Kind, Name: t.Name, Hash: bytesOf(t.Hash),
		Permissions: sql.NullString{String: strings.Join(t.Permissions, ","), Valid: t.Permissions != nil},
		Networks:    strings.Join(t.Networks, ","), CreationDate: t.CreationDate.UnixMilli(), ExpirationDate: t.ExpirationDate.UnixMilli(),
		LastUseDate: sql.NullInt64{Int64: t.LastUseDate.UnixMilli(), Valid: !t.LastUseDate.IsZero()},
	}
	if err := insertRows(ctx, tx, []adminTokenRow{row}); err != nil {
		return fmt.Errorf("insert admin token: %w", err)
	}
	return BumpRevision(ctx, tx, RevisionAdmin)
}

func (f AdminTokenFilter) conditions(engine Engine) (list conditions) {
	anyOf(&list, engine, "t.id", f.IDs)
	anyOf(&list, engine, "t.owner_id", f.OwnerIDs)
	anyOf(&list, engine, "t.kind", f.Kinds)
	return list
}

// FindAdminTokens returns the tokens that match the filter, ordered by id.
func FindAdminTokens(ctx context.Context, r Reader, filter AdminTokenFilter, page Page) ([]AdminToken, error) {
	var rows []adminTokenRow
	query := whereAll(r.NewSelect().Model(&rows), filter.conditions(r.Engine()))
	if err := page.apply(query, "t.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("find admin tokens: %w", translate(err))
	}
	tokens := make([]AdminToken, len(rows))
	for i, row := range rows {
		tokens[i] = row.token()
	}
	return tokens, nil
}

func (row adminTokenRow) token() AdminToken {
	t := AdminToken{
		ID: row.ID, OwnerID: row.OwnerID, Kind: row.Kind, Name: row.Name, Hash: bytesOf(row.Hash), Networks: splitList(row.Networks),
		CreationDate: time.UnixMilli(row.CreationDate).UTC(), ExpirationDate: time.UnixMilli(row.ExpirationDate).UTC(),
	}
	if row.Permissions.Valid {
		t.Permissions = splitList(row.Permissions.String)
	}
	if row.LastUseDate.Valid {
		t.LastUseDate = time.UnixMilli(row.LastUseDate.Int64).UTC()
	}
	return t
}

// splitList splits at commas; an empty text is an empty list.
func splitList(text string) []string {
	if text == "" {
		return []string{}
	}
	return strings.Split(text, ",")
}

// CountAdminTokens returns how many tokens match the filter.
func CountAdminTokens(ctx context.Context, r Reader, filter AdminTokenFilter) (int64, error) {
	return countRows(ctx, r, "admin_token", filter.conditions(r.Engine()))
}

// TouchAdminToken notes when a token was used, unless a later use is known. It does not bump the revision.
func TouchAdminToken(ctx context.Context, tx Tx, id int64, at time.Time) error {
	_, err := tx.NewUpdate().TableExpr("admin_token AS t").Set("last_use_date = ?", at.UnixMilli()).
		Where("t.id = ?", id).Where("(t.last_use_date IS NULL OR t.last_use_date < ?)", at.UnixMilli()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note the use of admin token %d: %w", id, err)
	}
	return nil
}

// DeleteAdminTokens deletes the tokens with the given ids and returns how many there were.
func DeleteAdminTokens(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteByID(ctx, tx, "admin_token", ids)
}

// DeleteExpiredAdminTokens deletes the tokens that expired before a moment and returns how many there were.
func DeleteExpiredAdminTokens(ctx context.Context, tx Tx, before time.Time) (int64, error) {
	n, err := deleteRows(ctx, tx, "admin_token", conditions{bun.SafeQuery("t.expiration_date < ?", before.UnixMilli())})
	if err != nil || n == 0 {
		return 0, err
	}
	return n, BumpRevision(ctx, tx, RevisionAdmin)
}
