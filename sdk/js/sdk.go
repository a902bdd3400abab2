// SPDX-License-Identifier: Apache-2.0

// Package sdk embeds the TypeScript types for plugins in JavaScript, so that the server's commands
// can export them. It runs nothing.
package sdk

import "embed"

// Types are the files with the types.
//
//go:embed *.d.ts
var Types embed.FS
