// SPDX-License-Identifier: Apache-2.0

package plugin

import _ "embed"

// Declarations is the text of types.go: the comments in it are the documentation that authors of
// plugins get.
//
//go:embed types.go
var Declarations string
