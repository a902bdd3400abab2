// SPDX-License-Identifier: Apache-2.0

// Package docs embeds the documents, so that the server can show them offline. It runs nothing.
package docs

import "embed"

// Files are the documents, their images and the OpenAPI documents.
//
//go:embed *.md adr/*.md images/*.png images/*.svg openapi/*.json
var Files embed.FS
