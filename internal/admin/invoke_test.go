// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
)

func TestInvoke(t *testing.T) {
	ta := newTestAPI(t)
	for _, tt := range []struct{ name, operation, input, want string }{
		{
			"parameters", "echo", `{"ids":["12345678901234567",2,2],"names":["a,b"],"count":3,"flag":false,"since":0,"kind":"GREEN","keys":[{"ownerId":"7"}],"size":5,"page":2}`,
			`{"ids":[12345678901234567,2],"names":["a,b"],"count":3,"flag":false,"since":"1970-01-01T00:00:00.000+00:00","kind":"GREEN","keys":[{"ownerId":7}],"limit":5,"offset":10}`,
		},
		{"defaults", "echo", ``, `{"flag":true,"limit":10,"offset":0}`},
		{"null is absent", "echo", `{"flag":null}`, `{"flag":true,"limit":10,"offset":0}`},
		{"body", "create", `{"body":{"id":"1","data":"AQI="}}`, `{"id":1,"data":"AQI="}`},
		{"optional body", "patch", `{}`, ``},
		{"nothing", "void", `{}`, ``},
		{"empty list", "empty", `{}`, `[]`},
		{"page", "beyond", `{}`, `{"total":7,"records":[]}`},
		{"version", "versioned", `{"If-Match":"3"}`, `{"ifMatch":"3"}`},
		{"file", "file", `{}`, `"YWJj"`},
		{"deletion", "delete", `{"ids":[1,2]}`, `{"deletedCount":2}`},

		{"unknown operation", "fly", `{}`, `!there is no operation "fly"`},
		{"stream", "stream", `{}`, `!there is no operation "stream"`},
		{"form", "upload", `{}`, `!there is no operation "upload"`},
		{"documentation", "queryOpenAPIDocument", `{}`, `!there is no operation`},
		{"unknown parameter", "echo", `{"id":1}`, `!echo has no parameter "id"`},
		{"body of nothing", "echo", `{"body":1}`, `!echo has no parameter "body"`},
		{"no object", "echo", `[]`, `!the input of echo must be a JSON object`},
		{"no JSON", "echo", `{`, `!the input of echo must be a JSON object`},
		{"rule", "echo", `{"count":10}`, `!parameter count: 10 must be at most 9`},
		{"no body", "create", `{}`, `!the request needs a JSON body`},
		{"field of the body", "create", `{"body":{"id":1,"x":2}}`, `!there is no field "x"`},
		{"deletion of everything", "delete", `{}`, `!` + apierr.NoFilterForDeleteOperation.Text()},
		{"deletion without selection", "delete", `{"all":false}`, `!` + apierr.NoFilterForDeleteOperation.Text()},
		{"refusal", "missing", `{}`, `!there is no file <x>`},
		{"failure", "fail", `{}`, `!` + apierr.ServerInternalError.Text()},
		{"panic", "panic", `{}`, `!` + apierr.ServerInternalError.Text()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ta.Invoke(t.Context(), ByPlugin("p", "1.0", ""), tt.operation, []byte(tt.input))
			if part, fails := strings.CutPrefix(tt.want, "!"); fails {
				e, ok := errors.AsType[*apierr.Error](err)
				if !ok || !strings.Contains(e.Reason, part) {
					t.Errorf("the error is %v, want %q", err, part)
				}
				return
			}
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	if strings.Count(ta.log.String(), "secret inside") != 2 {
		t.Errorf("the log is %s", ta.log)
	}
	first := ta.recorder.records[0]
	if first.Action != "echo" || first.Admin.LoginName != "plugin:p" || first.Code != apierr.OK || first.Params["kind"] != "GREEN" {
		t.Errorf("recorded was %+v", first)
	}
	if _, err := ta.Invoke(t.Context(), administrators["none"], "echo", nil); apierr.From(err).Code != apierr.Unauthorized {
		t.Errorf("without the permission: %v", err)
	}
}

// watcher is a Watcher that can be switched off.
type watcher struct {
	recorder
	wants bool
}

func (w *watcher) Wants() bool { return w.wants }

func TestWatcher(t *testing.T) {
	ta := newTestAPI(t)
	w := &watcher{wants: true}
	ta.opts.Watcher = w
	ta.settings.Audit, ta.settings.AuditParams = false, false
	call := func() {
		r := request("GET", "/things?kind=RED", "")
		as("root")(r)
		ta.do(r)
	}
	call()
	ta.settings.Audit = true
	call()
	w.wants = false
	call()
	w.wants = true
	if _, err := ta.Invoke(context.Background(), ByPlugin("p", "1.0", ""), "echo", nil); err != nil {
		t.Error(err)
	}
	if len(w.records) != 2 || w.records[0].Params["kind"] != "RED" {
		t.Errorf("told was %+v", w.records)
	}
	if len(ta.recorder.records) != 3 || slices.ContainsFunc(ta.recorder.records, func(r *Record) bool { return r.Params != nil }) {
		t.Errorf("recorded were %+v", ta.recorder.records)
	}
}

func TestFunctions(t *testing.T) {
	ta := newTestAPI(t)
	var names []string
	for _, f := range ta.Functions() {
		names = append(names, f.Group+"."+f.Name)
		if f.Input.NumField() < len(f.Operation.input().params) {
			t.Errorf("%s lacks parameters", f.Name)
		}
		selectors, all := "", ""
		if f.Operation.inType == reflect.TypeFor[thingDeletion]() {
			selectors, all = "ids", "all"
		}
		if f.All != all || strings.Join(f.Selectors, ",") != selectors {
			t.Errorf("%s selects by %v, all by %q", f.Name, f.Selectors, f.All)
		}
	}
	for _, want := range []string{"things.queryThings", "things.createThings", "things.checkMe", "things.queryEmptyPage"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s among %v", want, names)
		}
	}
	for in, want := range map[[2]string]string{
		{"/users", "/users/page"}: "/users", {"/users/a", "/users/ab"}: "/users", {"/a", "/b"}: "", {"/a/b", "/a/b"}: "/a/b",
	} {
		if got := sharedPath(in[0], in[1]); got != want {
			t.Errorf("%v share %q", in, got)
		}
	}
	if got := camelPath("/blocked-clients/ips"); got != "blockedClientsIps" {
		t.Error(got)
	}
}
