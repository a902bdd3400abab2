// SPDX-License-Identifier: Apache-2.0

package app

import (
	"archive/zip"
	"bytes"
	"io/fs"

	"example.org/app/docs"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/site"
	sdk "example.org/app/sdk/js"
)

// Documentation returns the documentation of this version as web pages.
func Documentation() *site.Site {
	return site.New(site.Options{Documents: docs.Files, Typings: sdk.Types, Javadoc: javadoc(), Version: version})
}

// javadoc returns the embedded Javadoc, or nil.
func javadoc() fs.FS {
	jar, err := java.Jar(java.JavadocJar)
	if err != nil {
		return nil
	}
	files, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return nil
	}
	return files
}
