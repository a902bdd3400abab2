// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os/user"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/audit"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/store"
)

// auditOptions converts the configuration of the audit trail.
func auditOptions(c config.Audit, db *store.DB) audit.Options {
	return audit.Options{
		Store: db, MaxChangeBytes: int(c.MaxChangeBytes), MaxRefusedPerMinute: int(c.MaxRefusedPerMinute),
		Retention: time.Duration(c.RetentionDays) * 24 * time.Hour,
	}
}

// start opens the audit trail, which can be read even if it is disabled.
func (p *auditTrail) start(context.Context) error {
	node := p.Nodes.first()
	o := auditOptions(p.Process.opts.Config.Audit, p.Database.db)
	o.NextID, o.NodeID, o.Logger = node.IDs().Next, node.ID(), p.Logs.logger
	p.trail = audit.New(o)
	p.Process.lifecycle.add(part{name: "audit trail", run: p.trail.Run})
	return nil
}

// forAdmins returns the trail for the admin interface, or nil if it is disabled.
func (p *auditTrail) forAdmins() admin.Trail {
	if !p.Process.opts.Config.Audit.Enabled {
		return nil
	}
	return api.NewTrail(p.trail)
}

// VerifyAudit verifies the audit trail in the store of a configuration. Nodes may be running.
func VerifyAudit(ctx context.Context, c *config.Config, through *audit.Head) (report audit.Report, err error) {
	db, err := openStore(ctx, c)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return audit.Verify(ctx, db, through)
}

// byCommand runs fn and records its changes in the audit trail under the user of the operating
// system.
func byCommand(ctx context.Context, db *store.DB, c config.Audit, operation string, fn func(context.Context) error) error {
	o := auditOptions(c, db)
	// A command is no node and has no node number. A collision of a random number in the same
	// millisecond is unlikely; in that case nothing is written.
	generator, err := ids.New(rand.IntN(ids.MaxNode + 1))
	if err != nil {
		return err
	}
	o.NextID, o.NodeID = generator.Next, "command line"
	trail := audit.New(o)
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	err = actAs(ctx, trail, audit.Act{LoginName: name, Operation: operation}, fn)
	over, cancel := context.WithCancel(ctx)
	cancel()
	return errors.Join(err, trail.Run(over)) // It stores the row of a refusal and returns.
}

// actByItself runs fn and records its changes in the audit trail under this node.
func (p *auditTrail) actByItself(ctx context.Context, operation string, params map[string]any, fn func(context.Context) error) error {
	if !p.Process.opts.Config.Audit.Enabled {
		return fn(ctx)
	}
	return actAs(ctx, p.trail, audit.Act{LoginName: "node " + p.Nodes.ids()[0], Operation: operation, Params: params}, fn)
}

// actAs runs fn and records its changes in the audit trail under a name that no administrator has.
func actAs(ctx context.Context, trail *audit.Trail, act audit.Act, fn func(context.Context) error) error {
	act.Date = time.Now()
	work, entry := trail.Begin(ctx, act)
	err := fn(work)
	result := audit.Result{Code: int32(apierr.OK), Status: http.StatusOK}
	if err != nil {
		e := apierr.From(store.Code(err))
		result = audit.Result{Code: int32(e.Code), Status: int32(e.HTTP()), Reason: e.Reason}
	}
	entry.End(ctx, result)
	return err
}

// openStore opens the store of a configuration; nodes may be running.
func openStore(ctx context.Context, c *config.Config) (*store.DB, error) {
	return store.Open(ctx, store.Options{
		URL: c.Store.URL.Reveal(), MaxConnections: int(c.Store.MaxConnections), Logger: slog.New(slog.DiscardHandler),
		Timeout:     time.Duration(c.Store.TimeoutMillis) * time.Millisecond,
		LockTimeout: time.Duration(c.Store.LockTimeoutMillis) * time.Millisecond,
	})
}
