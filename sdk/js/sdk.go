// SPDX-License-Identifier: Apache-2.0

// Package sdk holds the TypeScript types for plugins in JavaScript, so that the server's own commands can hand them out.
// It runs nothing.
package sdk

import "embed"

// Types are the files with the types.
//
//go:embed *.d.ts
var Types embed.FS
