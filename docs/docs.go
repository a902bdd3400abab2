// SPDX-License-Identifier: Apache-2.0

// Package docs holds the documents, so that the server can show them without
// a network. It runs nothing.
package docs

import "embed"

// Files are the documents, their images and the OpenAPI documents.
//
//go:embed *.md adr/*.md images/*.png images/*.svg openapi/*.json
var Files embed.FS
