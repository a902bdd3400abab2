// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// printHelp prints the help of a command. It shows mutually exclusive flags as alternatives:
// (--js NAME | --java NAME).
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	out := ctx.Stdout
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && os.Getenv("COLUMNS") == "" {
		_ = os.Setenv("COLUMNS", strconv.Itoa(width)) // The library only knows the width of files.
	}
	var b bytes.Buffer
	ctx.Stdout = &b
	err := kong.DefaultHelpPrinter(options, ctx)
	ctx.Stdout = out
	if err != nil {
		return err
	}
	text := b.String()
	if n := ctx.Selected(); n != nil {
		text = alternatives(text, n.Flags)
	}
	_, err = out.Write([]byte(text))
	return err
}

// alternatives rewrites the mutually exclusive flags in the usage line.
func alternatives(text string, flags []*kong.Flag) string {
	var list, shown []string
	for _, f := range flags {
		if f.Required && len(f.Xor) > 0 {
			list = append(list, f.Summary())
			shown = append(shown, strings.Replace(f.Summary(), "=", " ", 1))
		}
	}
	if len(list) < 2 {
		return text
	}
	return strings.Replace(text, strings.Join(list, " "), "("+strings.Join(shown, " | ")+")", 1)
}
