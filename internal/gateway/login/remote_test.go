// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
	"example.org/app/internal/wire"
)

const goodAnswer = `{"authenticated": true, "statements": [{"effect": "ALLOW", "actions": "QUERY", "resources": "MESSAGE"}]}`

// openRemote returns an authenticator that calls a server with the handler.
func openRemote(t *testing.T, handler http.HandlerFunc, change func(*config.LoginByHTTP)) *Authenticator {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return open(t, func(s *config.IdentityAccessManagement) {
		s.Type = config.LoginHTTP
		s.HTTP.Request.URL = property.URL(server.URL + "/login?source=chat")
		if change != nil {
			change(&s.HTTP)
		}
	})
}

func TestRemoteRequest(t *testing.T) {
	full := &Request{
		Version: 1, UserID: 9007199254740993, Password: new("päss"), Device: wire.DeviceType_IOS, DeviceDetails: map[string]string{"token": "x"},
		UserStatus: wire.UserStatus_BUSY.Enum(), IP: request(nil).IP,
		Location: &wire.UserLocation{Longitude: 1.5, Latitude: -2.5, Timestamp: new(int64(1_700_000_000_123)), Details: map[string]string{"city": "y"}},
	}
	for _, test := range []struct {
		name, method string
		request      *Request
		want         string
	}{
		{"everything", "POST", full, `{"version": 1, "userId": 9007199254740993, "password": "päss", "loggingInDeviceType": "IOS", "deviceDetails": {"token": "x"}, "userStatus": "BUSY",
			"location": {"longitude": 1.5, "latitude": -2.5, "timestamp": "2023-11-14T22:13:20.123Z", "details": {"city": "y"}}, "ip": "192.0.2.1"}`},
		{"least", "GET", request(nil), `{"version": 1, "userId": 1, "password": null, "loggingInDeviceType": "ANDROID", "deviceDetails": null, "userStatus": null, "location": null, "ip": "192.0.2.1"}`},
		{"least", "PUT", request(nil), ""},
		{"least", "PATCH", request(nil), ""},
		{"least", "DELETE", request(nil), ""},
	} {
		t.Run(test.name+" "+test.method, func(t *testing.T) {
			var method, path, host string
			var header http.Header
			var body []byte
			a := openRemote(t, func(w http.ResponseWriter, r *http.Request) {
				method, path, host, header = r.Method, r.URL.RequestURI(), r.Host, r.Header
				body, _ = io.ReadAll(r.Body)
				_, _ = io.WriteString(w, goodAnswer)
			}, func(s *config.LoginByHTTP) {
				s.Request.HTTPMethod = test.method
				s.Request.Headers = map[string]property.Secret{"authorization": "Bearer x", "Host": "auth.example.org"}
			})
			permissions, err := a.Authenticate(t.Context(), test.request)
			if err != nil || !permissions.Allows(wire.KindQueryMessages) || permissions.Allows(wire.KindCreateMessage) || !permissions.Allows(wire.KindDeleteSession) {
				t.Fatalf("got %v, %v", permissions, err)
			}
			if method != test.method || path != "/login?source=chat" || host != "auth.example.org" ||
				header.Get("Authorization") != "Bearer x" || header.Get("Content-Type") != "application/json" {
				t.Errorf("got %s %s of %s with %v", method, path, host, header)
			}
			if test.want == "" {
				return
			}
			var got, want any
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || test.name == "everything" && !strings.Contains(string(body), `"userId":9007199254740993,`) {
				t.Errorf("the body is %s: %s", body, diff)
			}
		})
	}
}

func TestRemoteAnswer(t *testing.T) {
	const failed, broken = apierr.LoginAuthenticationFailed, apierr.ServerInternalError
	status := func(patterns ...string) func(*config.LoginByHTTP) {
		return func(s *config.LoginByHTTP) { s.Authentication.ResponseExpectation.StatusCodes = patterns }
	}
	headers := func(s *config.LoginByHTTP) {
		s.Authentication.ResponseExpectation.Headers = map[string]string{"x-Verdict": "Yes"}
	}
	fields := func(s *config.LoginByHTTP) {
		s.Authentication.ResponseExpectation.BodyFields = map[string]string{"code": "0", "message": "ok"}
	}
	noFields := func(s *config.LoginByHTTP) { s.Authentication.ResponseExpectation.BodyFields = nil }
	for _, test := range []struct {
		name    string
		change  func(*config.LoginByHTTP)
		status  int
		verdict string
		body    string
		want    apierr.Code
	}{
		{"good", nil, 200, "", goodAnswer, apierr.OK},
		{"created", nil, 201, "", goodAnswer, apierr.OK},
		{"redirected", nil, 302, "", goodAnswer, failed},
		{"unauthorized", nil, 401, "", goodAnswer, failed},
		{"unauthorized without body", nil, 401, "", "", failed},
		{"server error", nil, 500, "", "oops", failed},
		{"exact status", status("204", "200"), 200, "", goodAnswer, apierr.OK},
		{"other status", status("204", "201"), 200, "", goodAnswer, failed},
		{"any status", status("*"), 500, "", goodAnswer, apierr.OK},
		{"prefix", status("4*"), 418, "", goodAnswer, apierr.OK},
		{"part", status("2?"), 200, "", goodAnswer, failed},
		{"header", headers, 200, "Yes", goodAnswer, apierr.OK},
		{"other header", headers, 200, "yes", goodAnswer, failed},
		{"no header", headers, 200, "", goodAnswer, failed},
		{"authenticated as text", nil, 200, "", `{"authenticated": "true", "statements": []}`, apierr.OK},
		{"not authenticated", nil, 200, "", `{"authenticated": false, "statements": []}`, failed},
		{"authenticated missing", nil, 200, "", `{"statements": []}`, failed},
		{"fields", fields, 200, "", `{"code": 0, "message": "ok", "statements": []}`, apierr.OK},
		{"one field", fields, 200, "", `{"code": 0, "statements": []}`, failed},
		{"no fields expected", noFields, 200, "", `{"statements": []}`, apierr.OK},
		{"no statements", nil, 200, "", `{"authenticated": true}`, broken},
		{"bad statements", nil, 200, "", `{"authenticated": true, "statements": [{}]}`, broken},
		{"no JSON", nil, 200, "", `<html>`, broken},
		{"empty", nil, 200, "", ``, broken},
		{"null", nil, 200, "", `null`, broken},
		{"list", nil, 200, "", `[]`, broken},
		{"more behind", nil, 200, "", goodAnswer + `{}`, broken},
		{"large", nil, 200, "", strings.Repeat(" ", maxAnswer-len(goodAnswer)) + goodAnswer, apierr.OK},
		{"too large", nil, 200, "", strings.Repeat(" ", maxAnswer-len(goodAnswer)+1) + goodAnswer, broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := openRemote(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/login" {
					t.Errorf("%s was asked", r.URL)
				}
				if test.verdict != "" {
					w.Header().Set("X-Verdict", test.verdict)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			}, test.change)
			permissions, err := a.Authenticate(t.Context(), request(new("x")))
			if got := codeOf(t, err); got != test.want {
				t.Errorf("got %v (%v), want %v", got, err, test.want)
			}
			if (permissions == nil) != (err != nil) {
				t.Errorf("got %v besides %v", permissions, err)
			}
		})
	}
}

func TestRemoteSilence(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // The client has disconnected.
	}
	a := openRemote(t, silent, func(s *config.LoginByHTTP) { s.Request.TimeoutMillis = 1 })
	if _, err := a.Authenticate(t.Context(), request(nil)); codeOf(t, err) != apierr.ServerInternalError {
		t.Errorf("a silent server: %v", err)
	}

	asked := make(chan struct{})
	a = openRemote(t, func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		silent(w, r)
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := a.Authenticate(ctx, request(nil)); codeOf(t, err) != apierr.ServerInternalError {
		t.Errorf("the login ended: %v", err)
	}
}

func TestRemoteGone(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	a := open(t, func(s *config.IdentityAccessManagement) {
		s.Type, s.HTTP.Request.URL = config.LoginHTTP, property.URL(server.URL+"/?token=hunter2")
	})
	if _, err := a.Authenticate(t.Context(), request(nil)); codeOf(t, err) != apierr.ServerInternalError || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("nobody listens: %v", err)
	}
}
