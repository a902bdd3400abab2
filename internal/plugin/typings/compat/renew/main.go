// SPDX-License-Identifier: Apache-2.0

// Command renew writes the types for plugins in JavaScript to the file with which later versions
// are compared. It runs for a release, from the top of the source tree, and fails if the types
// break plugins of the last release, unless -break is given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"example.org/app/internal/plugin/typings/compat"
)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "version of the release, for example 1.2.3")
	broken := flag.Bool("break", false, "write it although it breaks plugins")
	flag.Parse()
	if err := renew(strings.TrimPrefix(*version, "v"), *broken); err != nil {
		log.Fatalf("renew: %v", err)
	}
}

func renew(version string, broken bool) error {
	if version == "" {
		return errors.New("-version is missing")
	}
	now, err := compat.Current(version)
	if err != nil {
		return err
	}
	if !broken {
		old, err := compat.Baseline()
		if err != nil {
			return err
		}
		found, err := compat.Check(context.Background(), compat.Compiler, old, now)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("version %s breaks plugins of %s:\n%s", version, old.Version, strings.Join(found, "\n"))
		}
	}
	return os.WriteFile(compat.File, []byte(now.Text), 0o644)
}
