// SPDX-License-Identifier: Apache-2.0

// Package examples tests the example plugins in Java on running servers, with clients and with the services that they talk
// to. Maven builds the plugins before, and runs their own tests: make test does.
package examples

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"example.org/app/examples/plugins/exampletest"
	"example.org/app/internal/plugin/java/javatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jar returns where Maven puts an example. A test is skipped without a JDK.
func jar(t *testing.T, example string) string {
	t.Helper()
	javatest.Home(t)
	return filepath.Join(example, "target", example+".jar")
}

func TestWordFilterRejects(t *testing.T) { exampletest.WordFilterRejects(t, jar(t, "word-filter")) }
func TestWordFilterMasks(t *testing.T)   { exampletest.WordFilterMasks(t, jar(t, "word-filter")) }
func TestLogin(t *testing.T)             { exampletest.Login(t, jar(t, "login")) }
func TestMessageArchive(t *testing.T)    { exampletest.MessageArchive(t, jar(t, "message-archive")) }
func TestWebhookBridge(t *testing.T)     { exampletest.WebhookBridge(t, jar(t, "webhook-bridge")) }
func TestAdminReport(t *testing.T)       { exampletest.AdminReport(t, jar(t, "admin-report")) }
func TestS3Storage(t *testing.T)         { exampletest.S3Storage(t, jar(t, "s3-storage")) }
func TestS3StorageOfGroups(t *testing.T) { exampletest.S3StorageOfGroups(t, jar(t, "s3-storage")) }

// TestPlainText uses a library that is in the jar of the plugin.
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
