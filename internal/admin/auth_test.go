// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestCallersWhoHangUp proves that a caller who does not wait for the answer is
// no failure of the server.
func TestCallersWhoHangUp(t *testing.T) {
	ta := newTestAPI(t)
	ctx, cancel := context.WithCancel(t.Context())
	ta.opts.Authenticator = authenticatorFunc(func(ctx context.Context, _ Credentials) (*Principal, error) {
		cancel()
		return nil, errors.Join(ctx.Err())
	})
	r := request("GET", "/things", "", "Authorization", "Basic cm9vdDpyb290").WithContext(ctx)
	ta.do(r)
	if rec := ta.recorder.records[0]; rec.Status != statusHungUp {
		t.Errorf("the record says %d", rec.Status)
	}
	if strings.Contains(ta.log.String(), "ERROR") {
		t.Errorf("the log says %s", ta.log)
	}
}

type authenticatorFunc func(context.Context, Credentials) (*Principal, error)

func (f authenticatorFunc) Authenticate(ctx context.Context, c Credentials) (*Principal, error) {
	return f(ctx, c)
}

func TestAuditLogNamesTheAccountThatWasTried(t *testing.T) {
	ta := newTestAPI(t)
	var out bytes.Buffer
	ta.opts.Recorders = append(ta.opts.Recorders, AuditLog(slog.New(slog.NewJSONHandler(&out, nil))))
	r := request("GET", "/things", "")
	r.SetBasicAuth("victim", "secret-guess")
	ta.do(r)
	if text := out.String(); !strings.Contains(text, `"triedLoginName":"victim"`) || strings.Contains(text, "secret-guess") {
		t.Errorf("the audit log says %s", text)
	}
}
