// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"

	"example.org/app/internal/config"
)

type configCommand struct {
	Doc   configDocCommand   `cmd:"" help:"List every property: name, type, default, meaning, environment variable, and whether it can be changed at run time."`
	Check configCheckCommand `cmd:"" help:"Check a configuration without starting anything."`
}

type configDocCommand struct {
	Format string `default:"text" enum:"text,markdown,json" help:"text, markdown or json."`
}

// Help implements kong.HelpProvider.
func (configDocCommand) Help() string {
	return "Examples:\n  app config doc | less\n  app config doc --format json"
}

// Run implements the command.
func (c configDocCommand) Run() error {
	w := bufio.NewWriter(os.Stdout)
	if err := config.WriteDoc(w, c.Format); err != nil {
		return err
	}
	return w.Flush()
}

type configCheckCommand struct {
	File string   `arg:"" optional:"" help:"File to check (default: config/application.yaml in the home folder)."`
	Home string   `default:"." env:"APP_HOME" placeholder:"DIR" help:"Home folder (default: the current one)."`
	Set  []string `sep:"none" placeholder:"PROPERTY=VALUE" help:"Set a property, as for the server; may be repeated."`
}

// Help implements kong.HelpProvider.
func (configCheckCommand) Help() string {
	return "Environment variables apply, as they do for the server.\n\nExamples:\n  app config check\n  app config check new.yaml --set app.store.timeout-millis=500"
}

// Run implements the command.
func (c configCheckCommand) Run() error {
	if _, err := (source{Home: c.Home, Config: c.File, Set: c.Set}).load(); err != nil {
		return err
	}
	fmt.Println("the configuration is valid")
	return nil
}
