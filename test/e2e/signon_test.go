// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// idProvider is an OpenID Connect provider in its own process.
type idProvider struct {
	t      *testing.T
	issuer string
	stop   func()
}

func startProvider(t *testing.T) *idProvider {
	t.Helper()
	var problems strings.Builder
	cmd := exec.CommandContext(context.Background(), "node", "provider.mjs") // Closing its input ends it.
	cmd.Dir, cmd.Stderr = "provider", &problems
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &idProvider{t: t}
	stopped := false
	p.stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the provider: %v\n%s", err, problems.String())
		}
	}
	t.Cleanup(p.stop)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the provider did not start (make unit installs what it needs): %v", err)
	}
	p.issuer = strings.TrimSpace(line)
	return p
}

// control changes the state of the provider.
func (p *idProvider) control(path string, body any) string {
	p.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.Post(p.issuer+"/test/"+path, "application/json", strings.NewReader(string(data))) //nolint:noctx // The provider ends with the test.
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %s %s %v", path, resp.Status, answer, err)
	}
	return string(answer)
}

// claims returns the claims of a valid token with changes; nil removes a claim.
func (p *idProvider) claims(changes map[string]any) map[string]any {
	now := time.Now().Unix()
	c := map[string]any{"iss": p.issuer, "sub": "robot", "aud": "app", "iat": now, "exp": now + 300, "roles": []string{"operators"}}
	for k, v := range changes {
		if c[k] = v; v == nil {
			delete(c, k)
		}
	}
	return c
}

// token returns a token signed with the provider's key.
func (p *idProvider) token(changes map[string]any) string {
	return p.control("sign", p.claims(changes))
}

const (
	operatorRole = 101 // It may query users and manage administrators, with rank 5.
	viewerRole   = 102 // It may query users, with rank 1.
)

// startSignOn runs a server that trusts the provider.
func startSignOn(t *testing.T, p *idProvider, set ...string) *apptest.Server {
	t.Helper()
	a := apptest.Start(t, role.All, append([]string{
		"app.security.oidc.issuer=" + p.issuer, "app.security.oidc.client-id=app", "app.security.oidc.client-secret=a secret of the test",
		"app.security.oidc.name=Test Provider", "app.security.oidc.audiences=app,app-admin",
		"app.security.oidc.role-mapping[0].claim-value=operators", fmt.Sprintf("app.security.oidc.role-mapping[0].role-ids=%d", operatorRole),
		"app.security.oidc.role-mapping[1].claim-value=viewers", fmt.Sprintf("app.security.oidc.role-mapping[1].role-ids=%d", viewerRole),
		"app.security.oidc.role-mapping[2].claim-value=gone", "app.security.oidc.role-mapping[2].role-ids=999",
	}, set...)...)
	if status, answer := callAs(t, a, basicAuth, "POST", "/users", `{"id":1}`); status != http.StatusOK {
		t.Fatalf("create a user: %d %s", status, answer)
	}
	for _, body := range []string{
		fmt.Sprintf(`{"id":%d,"name":"operator","permissions":["USER_QUERY","ADMIN_CREATE","ADMIN_QUERY","ADMIN_UPDATE","ADMIN_ROLE_CREATE"],"rank":5}`, operatorRole),
		fmt.Sprintf(`{"id":%d,"name":"viewer","permissions":["USER_QUERY"],"rank":1}`, viewerRole),
	} {
		if status, answer := callAs(t, a, basicAuth, "POST", "/admins/roles", body); status != http.StatusOK {
			t.Fatalf("create a role: %d %s", status, answer)
		}
	}
	return a
}

var basicAuth = "Basic " + base64.StdEncoding.EncodeToString([]byte("app:app"))

// callAs sends a request to the service's admin interface.
func callAs(t *testing.T, a *apptest.Server, authorization, method, target, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, a.URL(role.Service)+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", authorization)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// wantAs checks the response to a request with a token.
func wantAs(t *testing.T, a *apptest.Server, token, method, target, body string, status int, part string) {
	t.Helper()
	got, answer := callAs(t, a, "Bearer "+token, method, target, body)
	if got != status || !strings.Contains(answer, part) {
		t.Errorf("%s %s: %d %s, want %d with %q", method, target, got, answer, status, part)
	}
}

// register registers the address of the console and users at the provider.
func (p *idProvider) register(a *apptest.Server, users map[string]any) {
	p.t.Helper()
	p.control("state", map[string]any{"redirects": []string{a.ConsoleURL() + "-/sign-on/callback"}, "users": users})
}

// newVisitor returns a client that keeps cookies and follows redirects, as a browser does.
func newVisitor(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// fetchPage follows redirects and returns the last response.
func fetchPage(t *testing.T, c *http.Client, method, address, form string) (resp *http.Response, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if resp, err = c.Do(req); err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

var formAction = regexp.MustCompile(`action="([^"]+)"`)

// signIn submits the login form of the provider and returns the final response.
func signIn(t *testing.T, a *apptest.Server, c *http.Client, to, user string) (*http.Response, string) {
	t.Helper()
	return signInAt(t, a.ConsoleURL(), c, to, user)
}

// signInAt is like signIn, for a console at an address.
func signInAt(t *testing.T, console string, c *http.Client, to, user string) (*http.Response, string) {
	t.Helper()
	resp, text := fetchPage(t, c, "GET", console+"-/sign-on/begin?to="+url.QueryEscape(to), "")
	m := formAction.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no login form: %s %s", resp.Status, text)
	}
	return fetchPage(t, c, "POST", m[1], "password=x&login="+user)
}

// whoami returns what the console knows of the session.
func whoami(t *testing.T, a *apptest.Server, c *http.Client) (session struct {
	LoginName   string
	Permissions []string
},
) {
	t.Helper()
	resp, text := fetchPage(t, c, "GET", a.ConsoleURL()+"-/session", "")
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal([]byte(text), &session); err != nil {
			t.Fatal(err)
		}
	}
	return session
}

// signOn clicks from the login page of the console through the form of the provider.
func signOn(p *page, account string) {
	p.wait("[...document.querySelectorAll('a')].some(e => e.innerText === 'Sign in with Test Provider' && (e.click(), true))")
	p.fill("input[name=login]", account)
	p.fill("input[name=password]", "x")
	p.click("button[type=submit]")
	p.wait("document.querySelector('header')")
}

// TestSignOnInBrowser signs in with a browser, through the login page of the console and the form
// of the provider.
func TestSignOnInBrowser(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	a := startSignOn(t, provider)
	provider.register(a, map[string]any{"ann": map[string]any{"name": "Ann <b>Example</b>", "roles": []string{"viewers"}}})
	p := openConsole(t, a.ConsoleURL())
	p.open("users")
	p.wait("document.querySelector('input[name=loginName]')")
	signOn(p, "ann")
	if at := eval[string](p, "location.pathname"); at != "/users" {
		t.Errorf("the browser is at %s, want the page that was asked for", at)
	}
	if cookie := eval[string](p, "document.cookie"); cookie != "" {
		t.Errorf("scripts can read the cookies %q", cookie)
	}
	p.wait("(fetch('-/session').then(r => r.json()).then(s => { window.held = s.permissions.join() }), true)")
	p.wait("window.held === 'USER_QUERY'")
	for _, problem := range p.problems() {
		if !strings.HasPrefix(problem, "request to "+provider.issuer) {
			t.Error(problem)
		}
	}
}

// TestSignOn signs in with the requests that a browser sends.
func TestSignOn(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	a := startSignOn(t, provider)
	users := map[string]any{
		"ann": map[string]any{"name": "Ann", "roles": []string{"operators", "unknown"}}, "bob": map[string]any{"name": "Bob"},
		"eve": map[string]any{"roles": []string{"gone", "app", "ROOT"}}, "app": map[string]any{"roles": "viewers"},
	}
	provider.register(a, users)

	t.Run("only pages of the console", func(t *testing.T) {
		for to, want := range map[string]string{
			"/users?x=1": "/users?x=1", "": "/", "//evil.example/x": "/x", "https://evil.example/x": "/x", `/\evil.example`: "/%5Cevil.example",
			"/../../x": "/x", "javascript:alert(1)": "/", "\r\nX: y": "/",
		} {
			c := newVisitor(t)
			resp, text := signIn(t, a, c, to, "ann")
			if got := resp.Request.URL; resp.StatusCode != http.StatusOK || got.Host != strings.TrimSuffix(strings.TrimPrefix(a.ConsoleURL(), "http://"), "/") || got.RequestURI() != want {
				t.Errorf("to %q: %s at %s, want %s\n%.200s", to, resp.Status, got, want, text)
			}
			if s := whoami(t, a, c); !strings.HasPrefix(s.LoginName, "oidc:") || !strings.HasSuffix(s.LoginName, ":ann") || len(s.Permissions) != 5 {
				t.Errorf("the session is %+v", s)
			}
		}
	})
	t.Run("no role", func(t *testing.T) {
		for _, user := range []string{"bob", "eve"} {
			c := newVisitor(t)
			resp, text := signIn(t, a, c, "", user)
			if resp.StatusCode != http.StatusForbidden || !strings.Contains(text, "gives a role on this server") {
				t.Errorf("%s: %s %s", user, resp.Status, text)
			}
			if s := whoami(t, a, c); s.LoginName != "" {
				t.Errorf("%s has the session %+v", user, s)
			}
		}
	})
	t.Run("not an account of the same name", func(t *testing.T) {
		c := newVisitor(t)
		signIn(t, a, c, "", "app")
		if s := whoami(t, a, c); s.LoginName == "app" || len(s.Permissions) != 1 {
			t.Errorf("the session is %+v", s)
		}
	})
	t.Run("roles are taken away", func(t *testing.T) {
		c := newVisitor(t)
		signIn(t, a, c, "", "ann")
		users["ann"] = map[string]any{"name": "Ann", "roles": []string{"viewers"}}
		provider.register(a, users)
		signIn(t, a, newVisitor(t), "", "ann")
		// The account is the same, and so are the roles of its older session.
		for range 2 {
			if s := whoami(t, a, c); len(s.Permissions) != 1 || s.Permissions[0] != "USER_QUERY" {
				t.Errorf("the session is %+v", s)
			}
		}
		if _, found := callAs(t, a, basicAuth, "GET", "/admins?size=100", ""); strings.Count(found, ":ann\"") != 1 {
			t.Errorf("the administrators are %s", found)
		}
	})
	t.Run("groups in the user information", func(t *testing.T) {
		provider.control("state", map[string]any{"userinfoOnly": true})
		defer provider.control("state", map[string]any{"userinfoOnly": false})
		c := newVisitor(t)
		signIn(t, a, c, "", "ann")
		if s := whoami(t, a, c); len(s.Permissions) != 1 {
			t.Errorf("the session is %+v", s)
		}
	})
	t.Run("answers that do not belong to the browser", func(t *testing.T) {
		callback := a.ConsoleURL() + "-/sign-on/callback"
		refused := func(c *http.Client, query, part string, status int) {
			t.Helper()
			resp, text := fetchPage(t, c, "GET", callback+query, "")
			if resp.StatusCode != status || !strings.Contains(text, part) || strings.Contains(text, "<script") {
				t.Errorf("%s: %s %s", query, resp.Status, text)
			}
			if s := whoami(t, a, c); s.LoginName != "" {
				t.Errorf("%s gives the session %+v", query, s)
			}
		}
		refused(newVisitor(t), "", "not begun in this browser", 401)
		refused(newVisitor(t), "?code=x&state=", "not begun in this browser", 401)
		refused(newVisitor(t), "?error=access_denied&error_description=<script>", "not begun in this browser", 401)
		c := newVisitor(t)
		resp, _ := fetchPage(t, c, "GET", a.ConsoleURL()+"-/sign-on/begin", "")
		if resp.StatusCode != http.StatusOK {
			t.Fatal(resp.Status)
		}
		refused(c, "?code=x&state=wrong", "not begun in this browser", 401)
		// The first response ends the attempt, valid or not.
		refused(c, "?code=x&state=wrong", "not begun in this browser", 401)
	})
	t.Run("ID tokens that are not the answer to this attempt", func(t *testing.T) {
		defer provider.control("state", map[string]any{"idToken": nil})
		for name, claims := range map[string]map[string]any{
			"none": {}, "another nonce": {"nonce": "of another attempt"}, "no nonce": {"nonce": nil}, "empty nonce": {"nonce": ""},
			"another audience": {"aud": "somebody else"}, "another issuer": {"iss": "https://evil.example"}, "too old": {"exp": 1000},
		} {
			provider.control("state", map[string]any{"idToken": claims})
			c := newVisitor(t)
			resp, text := signIn(t, a, c, "", "ann")
			s := whoami(t, a, c)
			if name == "none" { // The token is only signed again.
				if resp.StatusCode != http.StatusOK || s.LoginName == "" {
					t.Errorf("%s: %s %s", name, resp.Status, text)
				}
				continue
			}
			if resp.StatusCode != http.StatusUnauthorized || s.LoginName != "" {
				t.Errorf("%s: %s %s, the session is %+v", name, resp.Status, text, s)
			}
		}
	})
	t.Run("a code of somebody else", func(t *testing.T) {
		// The attacker stops before the redirect to the console, and passes the code to the
		// victim's browser.
		stopped := newVisitor(t)
		var answer *url.URL
		stopped.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), a.ConsoleURL()) {
				answer = r.URL
				return http.ErrUseLastResponse
			}
			return nil
		}
		signIn(t, a, stopped, "", "ann")
		if answer == nil {
			t.Fatal("the provider did not send the browser back")
		}
		victim := newVisitor(t)
		var begun *url.URL
		victim.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if begun == nil {
				begun = r.URL
			}
			return nil
		}
		fetchPage(t, victim, "GET", a.ConsoleURL()+"-/sign-on/begin", "")
		q := answer.Query()
		q.Set("state", begun.Query().Get("state"))
		resp, text := fetchPage(t, victim, "GET", a.ConsoleURL()+"-/sign-on/callback?"+q.Encode(), "")
		if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(text, "does not take the code") {
			t.Errorf("%s %s", resp.Status, text)
		}
	})
	t.Run("what a session of the provider may not do", func(t *testing.T) {
		users["ann"] = map[string]any{"name": "Ann", "roles": []string{"operators"}}
		provider.register(a, users)
		c := newVisitor(t)
		signIn(t, a, c, "", "ann")
		do := func(method, target, body string, status int, part string) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, a.ConsoleURL()+"-/api/service"+target, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != status || !strings.Contains(string(answer), part) {
				t.Errorf("%s %s %s: %s %s %v", method, target, body, resp.Status, answer, err)
			}
		}
		do("GET", "/users", "", 200, "")
		do("POST", "/admins/tokens", `{"name":"for ever"}`, 401, "sign in through the identity provider")
		do("POST", "/admins/sessions", "", 401, "log in with login name and password")
		do("POST", "/admins", fmt.Sprintf(`{"loginName":"equal","password":"x","roleIds":[%d]}`, operatorRole), 401, "not below your rank")
		do("POST", "/admins", fmt.Sprintf(`{"loginName":"lower","password":"x","roleIds":[%d]}`, viewerRole), 200, "lower")
		do("PUT", "/admins?ids=0", `{"password":"stolen"}`, 401, "not below your rank")
		do("POST", "/admins/roles", `{"id":7,"name":"more","permissions":["PLUGIN_CREATE"],"rank":1}`, 401, "permissions that you lack")
		do("GET", "/plugins", "", 401, "PLUGIN_QUERY")
	})
}

// TestSignOnBelowConsole signs in to the console on the admin port, and uses it.
func TestSignOnBelowConsole(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	a := startSignOn(t, provider)
	console := a.URL(role.Service) + "/console/"
	provider.control("state", map[string]any{
		"redirects": []string{console + "-/sign-on/callback"}, "users": map[string]any{"ann": map[string]any{"name": "Ann", "roles": []string{"viewers"}}},
	})
	c := newVisitor(t)
	resp, text := signInAt(t, console, c, "/users?x=1", "ann")
	if got := resp.Request.URL.String(); resp.StatusCode != http.StatusOK || got != console+"users?x=1" {
		t.Errorf("%s at %s\n%.300s", resp.Status, got, text)
	}
	if resp, text := fetchPage(t, c, "GET", console+"-/session", ""); resp.StatusCode != http.StatusOK || !strings.Contains(text, ":ann") {
		t.Errorf("the session is %s %s", resp.Status, text)
	}
	// The cookie is only accepted by the console.
	if resp, text := fetchPage(t, c, "GET", a.URL(role.Service)+"/users?ids=1", ""); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the cookie opens the admin interface: %s %s", resp.Status, text)
	}
	p := openConsole(t, console)
	p.open("users")
	signOn(p, "ann")
	if at := eval[string](p, "location.pathname"); at != "/console/users" {
		t.Errorf("the browser is at %s, want the page that was asked for", at)
	}
}

// TestProviderTokens sends tokens of the provider to the admin interface, as programs do.
func TestProviderTokens(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	a := startSignOn(t, provider)
	provider.register(a, map[string]any{"script": map[string]any{"roles": []string{"viewers"}}})
	now := time.Now().Unix()
	good := provider.token(nil)
	part := func(i int) string { return strings.Split(good, ".")[i] }
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	wantAs(t, a, good, "GET", "/users", "", 200, "")
	wantAs(t, a, good, "GET", "/plugins", "", 401, "PLUGIN_QUERY")
	for name, test := range map[string]struct {
		token  string
		status int
		part   string
	}{
		"a list of audiences":        {provider.token(map[string]any{"aud": []string{"other", "app-admin"}}), 200, ""},
		"within the skew":            {provider.token(map[string]any{"exp": now - 5}), 200, ""},
		"expired":                    {provider.token(map[string]any{"exp": now - 120, "iat": now - 600}), 401, "expired"},
		"without expiry":             {provider.token(map[string]any{"exp": nil}), 401, "expired"},
		"not yet valid":              {provider.token(map[string]any{"nbf": now + 3600}), 401, "nbf"},
		"issued in the future":       {provider.token(map[string]any{"iat": now + 3600, "exp": now + 7200}), 401, "in the future"},
		"another issuer":             {provider.token(map[string]any{"iss": "https://evil.example"}), 401, "issue"},
		"another audience":           {provider.token(map[string]any{"aud": "other"}), 401, "is for"},
		"no audience":                {provider.token(map[string]any{"aud": nil}), 401, "is for"},
		"no subject":                 {provider.token(map[string]any{"sub": nil}), 401, "no subject"},
		"no claim":                   {provider.token(map[string]any{"roles": nil}), 403, "gives a role"},
		"a claim of the wrong type":  {provider.token(map[string]any{"roles": map[string]any{"operators": true}}), 403, "gives a role"},
		"a role that does not exist": {provider.token(map[string]any{"roles": []string{"gone"}}), 403, "gives a role"},
		"no algorithm":               {encode(map[string]any{"alg": "none"}) + "." + part(1) + ".", 401, ""},
		"a shared secret":            {encode(map[string]any{"alg": "HS256"}) + "." + part(1) + "." + part(2), 401, ""},
		"another payload":            {part(0) + "." + encode(provider.claims(map[string]any{"sub": "root"})) + "." + part(2), 401, "signature"},
		"an unknown key":             {encode(map[string]any{"alg": "RS256", "kid": "none"}) + "." + part(1) + "." + part(2), 401, "signature"},
		"no JSON":                    {"ey.ey.ey", 401, ""},
		"huge":                       {good + strings.Repeat("a", 20_000), 401, "bytes"},
	} {
		t.Run(name, func(t *testing.T) { wantAs(t, a, test.token, "GET", "/users", "", test.status, test.part) })
	}
	t.Run("no sessions and tokens", func(t *testing.T) {
		wantAs(t, a, good, "POST", "/admins/sessions", "", 401, "log in")
		wantAs(t, a, good, "POST", "/admins/tokens", `{"name":"x"}`, 401, "token")
	})
	t.Run("a token never has more than it says", func(t *testing.T) {
		less := provider.token(map[string]any{"roles": []string{"viewers"}})
		wantAs(t, a, less, "GET", "/admins", "", 401, "ADMIN_QUERY")
		wantAs(t, a, good, "GET", "/admins", "", 200, "robot")
		wantAs(t, a, less, "GET", "/admins", "", 401, "ADMIN_QUERY")
		body := fmt.Sprintf(`{"loginName":"below","password":"x","roleIds":[%d]}`, viewerRole)
		wantAs(t, a, less, "POST", "/admins", body, 401, "ADMIN_CREATE")
		wantAs(t, a, good, "POST", "/admins", body, 200, "below")
	})
	t.Run("a program gets a token by itself", func(t *testing.T) {
		resp, text := fetchPage(t, newVisitor(t), "POST", provider.issuer+"/token",
			"grant_type=client_credentials&client_id=script&client_secret=another+secret&scope=admin&resource=urn:app:admin")
		var answer struct {
			AccessToken string `json:"access_token"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%s %s", resp.Status, text)
		}
		wantAs(t, a, answer.AccessToken, "GET", "/users", "", 200, "")
		wantAs(t, a, answer.AccessToken, "GET", "/admins", "", 401, "ADMIN_QUERY")
	})
	t.Run("the key is replaced", func(t *testing.T) {
		provider.control("rotate", nil)
		wantAs(t, a, provider.token(nil), "GET", "/users", "", 200, "")
		wantAs(t, a, good, "GET", "/users", "", 401, "signature")
	})
	t.Run("the provider goes away", func(t *testing.T) {
		known := provider.token(nil)
		wantAs(t, a, known, "GET", "/users", "", 200, "")
		provider.stop()
		wantAs(t, a, known, "GET", "/users", "", 200, "")
		unknown := encode(map[string]any{"alg": "RS256", "kid": "none"}) + "." + strings.Split(known, ".")[1] + "." + strings.Split(known, ".")[2]
		wantAs(t, a, unknown, "GET", "/users", "", 503, "cannot be reached")
	})
}

// TestProviderDown starts a server whose provider is down.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	good := provider.token(nil)
	provider.stop()
	a := startSignOn(t, provider)
	resp, text := fetchPage(t, newVisitor(t), "GET", a.ConsoleURL()+"-/sign-on/begin", "")
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "cannot be reached") {
		t.Errorf("%s %s", resp.Status, text)
	}
	wantAs(t, a, good, "GET", "/users", "", 503, "cannot be reached")
	if status, _ := callAs(t, a, basicAuth, "GET", "/users", ""); status != http.StatusOK {
		t.Errorf("a password: %d", status)
	}
}

// TestProviderSlow has a provider that exceeds the time limit.
func TestProviderSlow(t *testing.T) {
	t.Parallel()
	provider := startProvider(t)
	a := startSignOn(t, provider, "app.security.oidc.timeout-millis=200")
	provider.control("state", map[string]any{"delay": 600_000})
	wantAs(t, a, provider.token(nil), "GET", "/users", "", 503, "cannot be reached")
}

// TestWithoutSignOn has no provider.
func TestWithoutSignOn(t *testing.T) {
	t.Parallel()
	a := apptest.Start(t, role.All)
	if resp, _ := fetchPage(t, newVisitor(t), "GET", a.ConsoleURL()+"-/sign-on", ""); resp.StatusCode != http.StatusNoContent {
		t.Errorf("the options: %s", resp.Status)
	}
	for _, path := range []string{"begin", "callback?state=&code=x"} {
		if resp, text := fetchPage(t, newVisitor(t), "GET", a.ConsoleURL()+"-/sign-on/"+path, ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s %s", path, resp.Status, text)
		}
	}
	wantAs(t, a, "eyJhbGciOiJub25lIn0.e30.", "GET", "/users", "", 401, "unknown")
}
