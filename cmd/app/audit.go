// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.org/app/internal/app"
	"example.org/app/internal/audit"
)

// auditCommand works on the audit trail. It needs only the database.
type auditCommand struct {
	Verify auditVerify `cmd:"" help:"Find removed or changed rows of the audit trail."`
}

type auditVerify struct {
	source
	Head string `placeholder:"SEQUENCE:HASH" help:"Head that an earlier run printed; the trail must contain it."`
}

// Help implements kong.HelpProvider.
func (auditCommand) Help() string {
	return `Verifies the hash chain of the audit trail. If a row was changed or removed after
it was sealed, the exit code is 1 and the error names the first such row.

Anyone who can write to the database can also rewrite the whole chain. To detect
that, keep the head that a run prints elsewhere and pass it to a later run.

Examples:
  app audit verify --home /srv/app
  app audit verify --head 42:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`
}

// Run implements the command.
func (c auditVerify) Run() error {
	loaded, err := c.load()
	if err != nil {
		return err
	}
	var through *audit.Head
	if c.Head != "" {
		head, err := audit.ParseHead(c.Head)
		if err != nil {
			return err
		}
		through = &head
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := app.VerifyAudit(ctx, loaded, through)
	if err != nil {
		return err
	}
	fmt.Printf("the audit trail is whole: %d rows", report.Sealed)
	if report.Removed > 0 {
		fmt.Printf(" after seal %d, which was removed with those before it because of its age", report.Removed)
	}
	fmt.Println()
	if report.Unsealed > 0 {
		fmt.Printf("%d rows are not sealed yet and were not checked\n", report.Unsealed)
	}
	fmt.Printf("head %s\n", report.Head)
	return nil
}
