// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"

	"example.org/app/internal/app"
)

type docsCommand struct {
	Folder string `arg:"" help:"Folder for the pages; it must be empty or not exist."`
}

// Help implements kong.HelpProvider.
func (docsCommand) Help() string {
	return `Writes the documentation of this version as static web pages that can be read offline. A running server serves the same pages below /docs/
of the web console.

Example:
  app docs manual`
}

// Run implements the command.
func (c docsCommand) Run() error {
	if err := app.Documentation().Write(c.Folder); err != nil {
		return err
	}
	fmt.Println("open", filepath.Join(c.Folder, "index.html"))
	return nil
}
