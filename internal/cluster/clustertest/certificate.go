// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"os"
	"path/filepath"
	"testing"

	"example.org/app/internal/certificate/certificatetest"
	"example.org/app/internal/cluster"
)

// Certificate makes a certificate of the loopback interface that is its own authority.
func Certificate(t testing.TB) cluster.TLSFiles {
	t.Helper()
	folder := t.TempDir()
	files := cluster.TLSFiles{Certificate: filepath.Join(folder, "cert.pem"), Key: filepath.Join(folder, "key.pem"), CA: filepath.Join(folder, "cert.pem")}
	certificate, key := certificatetest.PEM(certificatetest.New("127.0.0.1"))
	for path, data := range map[string][]byte{files.Certificate: certificate, files.Key: key} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
