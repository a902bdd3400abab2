// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.org/app/internal/app"
	"example.org/app/internal/config"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/plugin/adapter"
	"example.org/app/internal/role"
	"example.org/app/internal/sleep"
)

// source is the flags for the sources of the configuration.
type source struct {
	Home   string   `default:"." env:"APP_HOME" placeholder:"DIR" help:"Home folder with config/application.yaml, data/, log/ and plugins/ (default: the current one)."`
	Config string   `placeholder:"FILE" help:"Configuration file instead of config/application.yaml."`
	Set    []string `sep:"none" placeholder:"PROPERTY=VALUE" help:"Set a property; may be repeated. Overrides the environment, which overrides the file."`
}

func (s source) load() (*config.Config, error) {
	home, err := filepath.Abs(s.Home)
	if err != nil {
		return nil, fmt.Errorf("home folder %q: %w", s.Home, err)
	}
	return config.Load(config.Options{Home: home, File: s.Config, Environ: os.Environ(), Set: s.Set})
}

// roleFlags are the flags of the commands that run roles.
type roleFlags struct {
	source
	IgnoreClusterSettings bool `help:"Ignore the settings that were changed at run time for the whole cluster, for instance if one of them locks administrators out."`
}

type (
	allCommand     struct{ roleFlags }
	gatewayCommand struct{ roleFlags }
	serviceCommand struct{ roleFlags }
)

const serverHelp = `Properties are read from the defaults, the file, the environment and --set, in this order; later sources override earlier ones.

Examples:
  app %[1]s
  app %[1]s --home /srv/app --set app.logging.console.level=DEBUG
  APP_STORE_URL=postgres://app@db/app app %[1]s`

// Help implements kong.HelpProvider.
func (allCommand) Help() string { return fmt.Sprintf(serverHelp, "all") }

// Help implements kong.HelpProvider.
func (gatewayCommand) Help() string { return fmt.Sprintf(serverHelp, "gateway") }

// Help implements kong.HelpProvider.
func (serviceCommand) Help() string { return fmt.Sprintf(serverHelp, "service") }

// Run implements the command.
func (c allCommand) Run() error { return c.serve(role.All) }

// Run implements the command.
func (c gatewayCommand) Run() error { return c.serve([]role.Role{role.Gateway}) }

// Run implements the command.
func (c serviceCommand) Run() error { return c.serve([]role.Role{role.Service}) }

// serve runs roles with the configuration of the source.
func (s roleFlags) serve(roles []role.Role) error {
	app.MakeRoom()
	c, err := s.load()
	if err != nil {
		return err
	}
	return serve(app.Options{Roles: roles, Config: c, Ready: announce, IgnoreClusterSettings: s.IgnoreClusterSettings})
}

// warnAfter delays the check of root's password, so that it does not slow the first requests: it
// takes as long as most of the start.
const warnAfter = time.Second

// serve runs a server until a signal. A second signal ends the process at once. o.Ready must be
// set.
func serve(o app.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // After the first signal, the next one ends the process at once.
	running, ended := context.WithCancel(ctx)
	var warning sync.WaitGroup
	defer warning.Wait()
	defer ended()
	ready := o.Ready
	o.Ready = func(a *app.App) {
		ready(a)
		warning.Go(func() {
			_ = sleep.For(running, warnAfter) // A server that ends earlier prints the warning, too.
			warnOfDefaultPassword(a)
		})
	}
	return app.Run(ctx, o)
}

// announce prints the addresses and folders of the server.
func announce(a *app.App) {
	home := a.Config().Current().Home()
	fmt.Printf("\napp %s is ready after %d ms (%s, data in %s)\n\n", app.Build().Version, a.StartTime().Round(time.Millisecond).Milliseconds(), a.Engine(), home)
	for _, r := range a.Roles() {
		if url := a.URL(r); url != "" {
			fmt.Printf("  %-8s admin interface  %s   documentation  %s/openapi/ui\n", r.Name(), url, url)
		} else {
			fmt.Printf("  %-8s admin interface  switched off\n", r.Name())
		}
		if r == role.Gateway {
			fmt.Printf("  %-8s clients          %s\n", r.Name(), strings.Join(a.ClientURLs(), "  "))
		}
	}
	if url := a.ConsoleURL(); url != "" {
		fmt.Printf("  web console               %s\n", url)
	}
	announcePlugins(a.Plugins())
	fmt.Printf("  root account              %s\n", administrator.RootLoginName)
	fmt.Printf("  log files                 %s\n\n", a.LogDir())
}

// warnOfDefaultPassword prints a warning if root has the default password.
func warnOfDefaultPassword(a *app.App) {
	if a.DefaultRootPassword() {
		fmt.Printf("WARNING: the root account %q has the default password %q; change it with PUT /admins?ids=0.\n\n",
			administrator.RootLoginName, config.Default().Security.Password.InitialRootPassword.Reveal())
	}
}

// announcePlugins prints which plugins were loaded and which were not.
func announcePlugins(r adapter.Report) {
	if !r.Enabled {
		fmt.Printf("  plugins                   switched off\n")
		return
	}
	fmt.Printf("  plugins                   %s\n", r.Folder)
	for _, p := range r.Loaded {
		fmt.Printf("    loaded                  %s\n", p)
	}
	for _, reason := range r.Rejected {
		fmt.Printf("    REJECTED                %s\n", strings.ReplaceAll(reason, "\n", " "))
	}
}
