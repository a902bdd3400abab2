// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// An AdminToken is a token for a program or a session. Only its hash is stored.
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
	// Networks are prefixes of addresses; empty means every address.
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

var adminTokens = newTable("admin_token", "id owner_id kind name hash permissions networks creation_date expiration_date last_use_date", func(t *AdminToken) []any {
	return []any{
		&t.ID, &t.OwnerID, &t.Kind, &t.Name, (*blob)(&t.Hash),
		optionalList{&t.Permissions},
		(*list)(&t.Networks), (*millis)(&t.CreationDate),
		(*millis)(&t.ExpirationDate), (*millisOrZero)(&t.LastUseDate),
	}
})

// InsertAdminToken stores a new token. An owner that does not exist is an ErrForeignKey.
func InsertAdminToken(ctx context.Context, tx Tx, t AdminToken) error {
	if err := adminTokens.insert(ctx, tx, t); err != nil {
		return fmt.Errorf("insert admin token: %w", err)
	}
	return BumpRevision(ctx, tx, RevisionAdmin)
}

func (f AdminTokenFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	anyOf(&c, "t.owner_id", f.OwnerIDs)
	anyOf(&c, "t.kind", f.Kinds)
	return c
}

// FindAdminTokens returns the tokens that match the filter, ordered by id.
func FindAdminTokens(ctx context.Context, r Reader, filter AdminTokenFilter, page Page) ([]AdminToken, error) {
	found, err := adminTokens.find(ctx, r, filter.conditions(), page, "t.id")
	if err != nil {
		return nil, fmt.Errorf("find admin tokens: %w", err)
	}
	return found, nil
}

// CountAdminTokens returns how many tokens match the filter.
func CountAdminTokens(ctx context.Context, r Reader, filter AdminTokenFilter) (int64, error) {
	return countRows(ctx, r, "admin_token", filter.conditions())
}

// TouchAdminToken records the use of a token, unless a later use is stored. It does not increment
// the revision.
func TouchAdminToken(ctx context.Context, tx Tx, id int64, at time.Time) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New("UPDATE admin_token AS t SET last_use_date = ? WHERE t.id = ? AND (t.last_use_date IS NULL OR t.last_use_date < ?)",
		at.UnixMilli(), id, at.UnixMilli()))
	if err != nil {
		return fmt.Errorf("note the use of admin token %d: %w", id, err)
	}
	return nil
}

// DeleteAdminTokens deletes the tokens with the given ids and returns how many there were.
func DeleteAdminTokens(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteByID(ctx, tx, "admin_token", ids)
}

// DeleteExpiredAdminTokens deletes the tokens that expired before a moment and returns how many
// there were.
func DeleteExpiredAdminTokens(ctx context.Context, tx Tx, before time.Time) (int64, error) {
	n, err := deleteRows(ctx, tx, "admin_token", where("t.expiration_date < ?", before.UnixMilli()))
	if err != nil || n == 0 {
		return 0, err
	}
	return n, BumpRevision(ctx, tx, RevisionAdmin)
}
