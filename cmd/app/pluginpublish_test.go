// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tokenOf creates a token of an administrator with all permissions.
func tokenOf(t *testing.T, s *server) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.service+"/admins/tokens", strings.NewReader(`{"name":"ci"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var issued struct{ Data struct{ Token string } }
	if err := json.NewDecoder(resp.Body).Decode(&issued); err != nil || issued.Data.Token == "" {
		t.Fatalf("%d, %v", resp.StatusCode, err)
	}
	return issued.Data.Token
}

// TestPluginPublish publishes versions of a plugin to a server with a token.
func TestPluginPublish(t *testing.T) {
	s := run(t, t.TempDir(), "--set", "app.plugin.grants.mode=EXPLICIT")
	secret := tokenOf(t, s)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script := func(version, start string) string {
		return fmt.Sprintf(`class Seen extends AppExtension { getExtensionPoints() { return ['AdminActionHandler']; } start() { %s } handleAdminAction() {} }
export default class extends AppPlugin { getDescriptor() { return {id: 'seen', version: '%s'}; } getExtensions() { return [Seen]; } }`, start, version)
	}
	token := write("token", secret+"\n")
	publish := func(env []string, args ...string) (int, string) {
		t.Helper()
		cmd := command(t, env, append([]string{"plugin", "publish", "--timeout", "10m", "--url", s.service}, args...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Run()
		return cmd.ProcessState.ExitCode(), out.String()
	}
	first := write("seen.js", script("1", ""))
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		code int
		want []string
	}{
		{"no token", nil, []string{first}, 1, []string{"there is no token: set APP_TOKEN"}},
		{"wrong token", []string{"APP_TOKEN=app_token_wrong"}, []string{first}, 1, []string{`publish "seen.js": `}},
		{"no plugin", nil, []string{write("seen.txt", "x"), "--token-file", token}, 1, []string{"its name must end in .js, .ts or .jar"}},
		{"no file", nil, []string{"absent.js", "--token-file", token}, 1, []string{"read the plugin"}},
		{"no URL", nil, []string{first, "--token-file", token, "--url", "nowhere"}, 1, []string{"must be an http or https URL"}},
		{"broken", nil, []string{write("broken.js", "class {"), "--token-file", token}, 1, []string{"SyntaxError"}},
		{"dry run", nil, []string{first, "--token-file", token, "--dry-run"}, 0, []string{"the cluster would take seen 1 (SHA-256 "}},
		{"dry run of a broken one", nil, []string{filepath.Join(dir, "broken.js"), "--token-file", token, "--dry-run"}, 1, []string{"SyntaxError"}},
		{"a revision that it has not", nil, []string{first, "--token-file", token, "--if-match", "3"}, 1, []string{"somebody changed it meanwhile"}},
		{"first", []string{"APP_TOKEN=" + secret}, []string{first, "--if-match", "0"}, 0, []string{"seen 1 is version 1 of the cluster", " STARTED\n", "all 2 nodes have it\n"}},
		{"second", nil, []string{write("seen2.js", script("2", "")), "--token-file", token}, 0, []string{"seen 2 is version 2 of the cluster", " STARTED\n", "all 2 nodes have it\n"}},
		{"one that does not start", nil, []string{write("seen3.js", script("3", "throw new Error('no database');")), "--token-file", token}, 1, []string{
			"seen 3 is version 3 of the cluster", `FAILED, still with another version: start of extension "Seen" failed: Error: no database`, `plugin "seen" is not on all nodes: `,
		}},
		{"one that asks for more", nil, []string{write("seen4.js", strings.Replace(script("4", ""), "id: 'seen'", "id: 'seen', permissions: ['USER_QUERY']", 1)), "--token-file", token}, 1, []string{
			"seen 4 is version 4 of the cluster", `WAITING, still with another version: `, `plugin "seen" waits for a grant of the permission USER_QUERY`,
		}},
		{"with its grant", nil, []string{filepath.Join(dir, "seen4.js"), "--token-file", token, "--grant"}, 0, []string{"seen 4 is version 4 of the cluster", "all 2 nodes have it\n"}},
		{"first again", nil, []string{first, "--token-file", token}, 0, []string{"seen 1 is version 1 of the cluster", "all 2 nodes have it\n"}},
		{"as a shadow", nil, []string{write("seen5.js", script("5", "")), "--token-file", token, "--shadow"}, 0, []string{"seen 5 is version 5 of the cluster", "rollout 1 runs it as a shadow\n"}},
		{"beside a shadow", nil, []string{filepath.Join(dir, "seen2.js"), "--token-file", token, "--shadow"}, 1, []string{"rollout 1 of plugin \"seen\" is RUNNING"}},
		{"TypeScript", nil, []string{write("typed.ts", strings.ReplaceAll(script("1", "const n: number = 1;"), "seen", "typed")), "--token-file", token, "--no-start"}, 0, []string{
			"typed 1 is version 1 of the cluster", " LOADED\n", "all 2 nodes have it\n",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, out := publish(tt.env, tt.args...)
			if code != tt.code {
				t.Errorf("the exit code is %d", code)
			}
			for _, part := range tt.want {
				if !strings.Contains(out, part) {
					t.Errorf("the output lacks %q:\n%s", part, out)
				}
			}
			if strings.Contains(out, secret) {
				t.Errorf("the output has the token: %s", out)
			}
		})
	}
}
