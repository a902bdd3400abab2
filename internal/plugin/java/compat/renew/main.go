// SPDX-License-Identifier: Apache-2.0

// Command renew writes the Java plugin API to the file with which later versions are compared. It
// runs for a release, after make build, and fails if the API breaks plugins of the last release,
// unless -break is given.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"example.org/app/internal/plugin/java/compat"
)

func main() {
	log.SetFlags(0)
	version := flag.String("version", "", "version of the release, for example 1.2.3")
	broken := flag.Bool("break", false, "write it although it breaks plugins")
	flag.Parse()
	if err := renew(compat.File, strings.TrimPrefix(*version, "v"), *broken); err != nil {
		log.Fatalf("renew: %v", err)
	}
}

func renew(file, version string, broken bool) error {
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
		if found := compat.Check(old, now); len(found) > 0 {
			return fmt.Errorf("version %s breaks plugins of %s:\n%s", version, old.Version, strings.Join(found, "\n"))
		}
	}
	var b bytes.Buffer
	if err := now.Write(&b); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
