// SPDX-License-Identifier: Apache-2.0

package java

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// The jars that Jar returns.
const (
	// HostJar is the program that runs plugins, with its dependencies.
	HostJar = "app-plugin-host.jar"
	// APIJar is the API for compiling plugins.
	APIJar = "app-plugin-api.jar"
	// TestJar is the API for compiling tests of plugins.
	TestJar = "app-plugin-test.jar"
	// JavadocJar is the documentation of APIJar. Releases carry it; make build leaves it out.
	JavadocJar = "app-plugin-api-javadoc.jar"
)

//go:embed jars
var jars embed.FS

// ErrNoJars reports that this program was built without the jars.
var ErrNoJars = errors.New("this program was built without what runs Java plugins: build it with make build on a machine with a JDK of version 21 or newer and Maven")

// Jar returns one of the embedded jars.
func Jar(name string) ([]byte, error) {
	data, err := jars.ReadFile("jars/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("jar %q: %w", name, ErrNoJars)
	}
	return data, err
}
