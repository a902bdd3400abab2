// SPDX-License-Identifier: Apache-2.0

package property

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	tr := sampleTree(t)
	err := tr.Check()
	if err == nil || !strings.Contains(err.Error(), `app.proxy.host: the documentation "" is not a sentence`) || strings.Contains(err.Error(), "leads") {
		t.Errorf("got %v", err)
	}
	n, _ := tr.root.child("count")
	n.prop.Env, n.prop.JSONPath = "APP_COUNTS", "big"
	if err := tr.checkNames(n); err == nil || !strings.Contains(err.Error(), `app.count: the spelling "big" leads to app.big`) {
		t.Errorf("got %v", err)
	}
	n.prop.JSONPath = "count"
	if err := tr.checkNames(n); err == nil || !strings.Contains(err.Error(), "the environment variable APP_COUNTS leads to") {
		t.Errorf("got %v", err)
	}
}
