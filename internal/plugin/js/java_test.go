// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"log/slog"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
)

// newJava makes a host of Java that is closed at the end of the test.
func newJava(t testing.TB, log *logged) *java.Host {
	t.Helper()
	h, err := java.New(java.Options{Folder: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
	return h
}

// withJava makes hosts of both languages.
func withJava(t testing.TB) (*Host, *java.Host) {
	t.Helper()
	j := newJava(t, &logged{})
	h, _ := newHost(t, Options{Java: j})
	return h, j
}

// say calls a function of a plugin that answers with a text.
func say(ctx context.Context, m *module) (string, error) {
	var r *plugin.RequestHandlerResult
	_, err := m.Extensions()[0].Call(ctx, handle, []any{&plugin.ClientRequest{}}, &r)
	if err != nil || r == nil {
		return "", err
	}
	return r.Reason, nil
}

// javaScript is a plugin whose handle answers with what the code returns, as JSON.
func javaScript(before, code string) plugin.Source {
	return script(before, "handle() { const v = (() => {"+code+"})(); return { code: 1000, reason: JSON.stringify(v, (k, x) => typeof x === 'bigint' ? x + 'n' : x) ?? 'undefined' }; }")
}

func TestJavaType(t *testing.T) {
	h, _ := withJava(t)
	m := load(t, h, javaScript("", `
const HashMap = Java.type('java.util.HashMap');
const m = new HashMap();
m.put('a', 1n);
return [m.size(), m.get('a'), m.get('b')];`))
	if got, err := say(t.Context(), m); err != nil || got != "[1,1,null]" {
		t.Errorf("%q, %v", got, err)
	}
}
