// SPDX-License-Identifier: Apache-2.0

// Package examples tests the example plugins in Java on running servers, with clients and with the
// services that the plugins use. Maven must build the plugins before and runs their unit tests:
// make test does both.
package examples

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/app/examples/plugins/exampletest"
	"example.org/app/internal/plugin/java/javatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jar returns the path of an example's jar. It skips the test without a JDK.
func jar(t *testing.T, example string) string {
	t.Helper()
	javatest.Home(t)
	return filepath.Join(example, "target", example+".jar")
}

func TestWordFilterRejects(t *testing.T) { exampletest.WordFilterRejects(t, jar(t, "word-filter")) }
func TestWordFilterMasks(t *testing.T)   { exampletest.WordFilterMasks(t, jar(t, "word-filter")) }
func TestModeration(t *testing.T)        { exampletest.Moderation(t, jar(t, "moderation"), stricter) }
func TestLogin(t *testing.T)             { exampletest.Login(t, jar(t, "login")) }
func TestMessageArchive(t *testing.T)    { exampletest.MessageArchive(t, jar(t, "message-archive")) }
func TestWebhookBridge(t *testing.T)     { exampletest.WebhookBridge(t, jar(t, "webhook-bridge")) }
func TestAdminReport(t *testing.T)       { exampletest.AdminReport(t, jar(t, "admin-report")) }
func TestS3Storage(t *testing.T)         { exampletest.S3Storage(t, jar(t, "s3-storage")) }
func TestS3StorageOfGroups(t *testing.T) { exampletest.S3StorageOfGroups(t, jar(t, "s3-storage")) }

// stricter returns a stricter version of the jar of moderation, which differs only in plugin.yaml.
func stricter(t *testing.T, code []byte) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(code), int64(len(code)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range in.File {
		if f.Name != "plugin.yaml" {
			if err := w.Copy(f); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := fs.ReadFile(in, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		next := strings.NewReplacer(`version: "1.0"`, `version: "1.1"`, "default: 0.9", "default: 0.5").Replace(string(text))
		part, err := w.Create(f.Name)
		if err == nil {
			_, err = part.Write([]byte(next))
		}
		if err != nil || next == string(text) {
			t.Fatalf("%v: %s", err, next)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPlainText tests a plugin with a library in its jar.
func TestPlainText(t *testing.T) {
	s := exampletest.Start(t, jar(t, "plain-text"))
	sender, reader := exampletest.LogIn(t, s, 5), exampletest.LogIn(t, s, 6)
	sender.Request(exampletest.Message(6, "**very** *important*"))
	if got := exampletest.Read(reader); got != "very important" {
		t.Errorf("the message is %q", got)
	}
	sender.Request(exampletest.Message(6, "as it is"))
	if got := exampletest.Read(reader); got != "as it is" {
		t.Errorf("the message is %q", got)
	}
}
