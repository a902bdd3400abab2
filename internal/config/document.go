// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io"
)

// WriteDoc writes the documentation of every property. The formats are "text" for a terminal,
// "markdown" with one table for each top-level group, and "json" for programs.
func WriteDoc(w io.Writer, format string) error {
	var intro string
	switch format {
	case "text":
		intro = precedence + "\n"
	case "markdown":
		intro = "# Configuration\n\n" + precedence + "\n"
	}
	if _, err := io.WriteString(w, intro); err != nil {
		return fmt.Errorf("write documentation: %w", err)
	}
	return configTree().WriteDoc(w, format)
}

// precedence explains the precedence of sources.
const precedence = `A property has its value from, each stronger than the one before:

1. its default
2. the file config/application.yaml in the home folder, or the one that --config names,
   then config/application-latest.yaml, which holds what was changed on this node while it ran
3. the environment
4. --set property=value
5. the cluster: what an administrator changed with PUT /cluster/settings

Names may be written in kebab-case or camelCase; elements of lists as name[0].field.
GET /cluster/settings/metadata?withValue=true shows for each property where its value came from.
`
