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

// auditOptions are what the configuration says of the audit trail.
func auditOptions(c config.Audit, db *store.DB) audit.Options {
	return audit.Options{
		Store: db, MaxChangeBytes: int(c.MaxChangeBytes), MaxRefusedPerMinute: int(c.MaxRefusedPerMinute),
		Retention: time.Duration(c.RetentionDays) * 24 * time.Hour,
	}
}

// start opens the audit trail. It can be read even if it is switched off.
func (p *auditTrail) start(context.Context) error {
	node := p.Nodes.first()
	o := auditOptions(p.Process.opts.Config.Audit, p.Database.db)
	o.NextID, o.NodeID, o.Logger = node.IDs().Next, node.ID(), p.Logs.logger
	p.trail = audit.New(o)
	p.Process.lifecycle.add(part{name: "audit trail", run: p.trail.Run})
	return nil
}

// forAdmins keeps the writes of the admin interface, if that is switched on.
func (p *auditTrail) forAdmins() admin.Trail {
	if !p.Process.opts.Config.Audit.Enabled {
		return nil
	}
	return api.NewTrail(p.trail)
}

// VerifyAudit checks the audit trail in the store of a configuration. Nodes may run meanwhile.
func VerifyAudit(ctx context.Context, c *config.Config, through *audit.Head) (report audit.Report, err error) {
	db, err := openStore(ctx, c)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return audit.Verify(ctx, db, through)
}

// byCommand has what fn does in the audit trail, as done by the user of the operating system.
func byCommand(ctx context.Context, db *store.DB, c config.Audit, operation string, fn func(context.Context) error) error {
	o := auditOptions(c, db)
	// A command is no node and has no number of its own. With one of a thousand numbers and a millisecond of its own it
	// meets nobody else's id; if it does, nothing is written.
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

// actByItself has what fn does in the audit trail, as done by this node.
func (p *auditTrail) actByItself(ctx context.Context, operation string, params map[string]any, fn func(context.Context) error) error {
	if !p.Process.opts.Config.Audit.Enabled {
		return fn(ctx)
	}
	return actAs(ctx, p.trail, audit.Act{LoginName: "node " + p.Nodes.ids()[0], Operation: operation, Params: params}, fn)
}

// actAs has what fn does now in an audit trail, under a name that is no administrator's.
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

// openStore opens the store of a configuration beside the nodes that may run.
func openStore(ctx context.Context, c *config.Config) (*store.DB, error) {
	return store.Open(ctx, store.Options{
		URL: c.Store.URL.Reveal(), MaxConnections: int(c.Store.MaxConnections), Logger: slog.New(slog.DiscardHandler),
		Timeout:     time.Duration(c.Store.TimeoutMillis) * time.Millisecond,
		LockTimeout: time.Duration(c.Store.LockTimeoutMillis) * time.Millisecond,
	})
}
