// SPDX-License-Identifier: Apache-2.0

// Command app is the instant-messaging server: both roles, or one of them, and
// the commands that an operator needs around them.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"

	"example.org/app/internal/app"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// commands is the command line.
type commands struct {
	All      allCommand      `cmd:"" default:"withargs" help:"Run both roles in one process (the default)."`
	Gateway  gatewayCommand  `cmd:"" help:"Run app-gateway, which accepts the connections of clients."`
	Service  serviceCommand  `cmd:"" help:"Run app-service, which holds the business logic and the data."`
	Config   configCommand   `cmd:"" help:"List all properties, or check a configuration."`
	Audit    auditCommand    `cmd:"" help:"Verify the audit trail in the database; the cluster need not run."`
	Backup   backupCommand   `cmd:"" help:"Back up the SQLite database to a file, also while the server runs."`
	Restore  restoreCommand  `cmd:"" help:"Restore the SQLite database from a file written by app backup."`
	Migrate  migrateCommand  `cmd:"" help:"Show the schema version of the database, or migrate it."`
	Fake     fakeCommand     `cmd:"" help:"Fill an empty database with generated users, groups and messages."`
	Health   healthCommand   `cmd:"" help:"Check that the roles on this machine are ready."`
	Docs     docsCommand     `cmd:"" help:"Write the documentation as web pages."`
	OpenAPI  openAPICommand  `cmd:"" name:"openapi" help:"Print the OpenAPI 3.0 document of a role."`
	Plugin   pluginCommand   `cmd:"" help:"Create, check, test, build, publish and manage plugins."`
	Settings settingsCommand `cmd:"" help:"Show or change the settings of a cluster in its database; the cluster need not run."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

const description = `An instant-messaging server with an admin interface and plugins in JavaScript, Java and Kotlin.

Examples:
  app                                     run both roles here, data in ./data
  app service --home /srv/app             run one role
  app --set app.service.admin-api.http.port=8080
  app config doc                          list every property
  app plugin new --js my-plugin           create a plugin`

func main() {
	var c commands
	parser := kong.Must(
		&c,
		kong.Name("app"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Help(printHelp),
	)
	ctx, err := parser.Parse(os.Args[1:])
	if err != nil {
		fail(fmt.Errorf("%w; see app --help", err), exitUsage)
	}
	if err := ctx.Run(); err != nil {
		if e, ok := errors.AsType[*app.ExitError](err); ok {
			fail(err, e.Status)
		}
		fail(err, exitFailure)
	}
}

const (
	exitFailure = 1
	exitUsage   = 2
)

// fail prints an error as one line and exits.
func fail(err error, code int) {
	fmt.Fprintln(os.Stderr, "app: "+strings.ReplaceAll(err.Error(), "\n", "; "))
	os.Exit(code)
}

type versionCommand struct{}

// Help implements kong.HelpProvider.
func (versionCommand) Help() string { return "Example:\n  app version" }

// Run implements the command.
func (versionCommand) Run() error {
	b := app.Build()
	fmt.Printf("app %s (commit %s, built %s)\n", b.Version, b.CommitID, b.BuildTime)
	fmt.Printf("  built with        %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	fmt.Printf("  client protocol   %d\n", wire.Version)
	languages := "JavaScript and Java"
	if _, err := java.Jar(java.HostJar); err != nil {
		languages = "JavaScript; built without Java support"
	}
	if java.Unsupported != "" {
		languages = "JavaScript; " + java.Unsupported
	}
	fmt.Printf("  plugins           %s\n", languages)
	return nil
}

type openAPICommand struct {
	Role string `required:"" enum:"service,gateway" help:"The role: service or gateway."`
}

// Help implements kong.HelpProvider.
func (openAPICommand) Help() string { return "Example:\n  app openapi --role service > service.json" }

// Run implements the command.
func (c openAPICommand) Run() error {
	_, err := fmt.Printf("%s\n", app.OpenAPI(role.Of(c.Role)))
	return err
}
