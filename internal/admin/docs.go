// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

var documentationTag = Tag{"OpenAPIController", "The description of this interface."}

//go:embed docs.html
var docsPage []byte

//go:embed docs.js
var docsScript []byte

//go:embed docs.css
var docsStyle []byte

// documentation declares the operations that serve the OpenAPI document and a page for it. All
// files of the page are embedded.
func (a *API) documentation() []*Operation {
	ops := []*Operation{
		a.docOperation("queryOpenApiDocument", "/openapi/docs", "Get the OpenAPI 3.0 description", jsonType,
			func() ([]byte, bool, error) { return a.servedDocument(), false, nil }),
		a.docOperation("queryOpenApiPage", "/openapi/ui", "Get the interactive documentation", "text/html; charset=utf-8",
			func() ([]byte, bool, error) { return docsPage, false, nil }),
		a.docOperation("queryOpenApiPageStyle", "/openapi/ui/index.css", "Get the style sheet of the page", "text/css",
			func() ([]byte, bool, error) { return docsStyle, false, nil }),
		a.docOperation("queryOpenApiPageScript", "/openapi/ui/swagger-initializer.js", "Get the script of the page", "application/javascript",
			func() ([]byte, bool, error) { return docsScript, false, nil }),
	}
	for _, f := range []struct{ id, name, contentType string }{
		{"querySwaggerUiStyle", "swagger-ui.css", "text/css"},
		{"querySwaggerUiBundle", "swagger-ui-bundle.js", "application/javascript"},
		{"querySwaggerUiPreset", "swagger-ui-standalone-preset.js", "application/javascript"},
		{"querySwaggerUiIcon", "favicon-32x32.png", "image/png"},
	} {
		ops = append(ops, a.docOperation(f.id, "/openapi/ui/"+f.name, "Get the file "+f.name+" of Swagger UI", f.contentType,
			func() ([]byte, bool, error) { return swaggerFile(f.name) }))
	}
	return ops
}

// docOperation declares one file of the documentation.
func (a *API) docOperation(id, urlPath, summary, contentType string, read func() (body []byte, gzipped bool, err error)) *Operation {
	mime, _, _ := strings.Cut(contentType, ";")
	media := &Media{ContentType: mime, Description: "The file " + path.Base(urlPath) + "."}
	if mime == jsonType {
		media.JSON = map[string]any{}
	}
	return Handle(Operation{
		ID: id, Method: http.MethodGet, Path: urlPath, Tag: documentationTag.Name, Summary: summary,
		Access: Public, Enabled: a.opts.DocsEnabled, Media: media,
	}, func(context.Context, *NoInput) (*Raw, error) {
		body, gzipped, err := read()
		return &Raw{ContentType: contentType, Body: body, Gzipped: gzipped, Version: versionOf(body)}, err
	})
}

// versionOf returns the version of a file of the documentation.
func versionOf(body []byte) string {
	digest := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(digest[:12])
}

// swaggerFile returns a file of Swagger UI, as it is stored.
func swaggerFile(name string) (body []byte, gzipped bool, err error) {
	if body, err = static.FS.ReadFile(name + ".gz"); err == nil {
		return body, true, nil
	}
	if body, err = static.FS.ReadFile(name); err != nil {
		return nil, false, fmt.Errorf("read a file of Swagger UI: %w", err)
	}
	return body, false, nil
}
