// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/recording"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/internal/role"
)

func TestFlightRecordings(t *testing.T) {
	for _, r := range role.All {
		t.Run(string(r), func(t *testing.T) {
			s := apptest.Start(t, role.All)
			if status, body := ask(t, s, r, "GET", "/flight-recordings", ""); status != 204 {
				t.Errorf("an empty list is %d %s", status, body)
			}
			want(t, s, r, "POST", "/flight-recordings", `{"durationSeconds":0,"maxAgeSeconds":60,"maxSizeBytes":50000000,"delaySeconds":0,"description":"ours","customSettings":{"app.AdminRequest#threshold":"0 ns","app.SqlTransaction#threshold":"0 ns"}}`, 200, `"data":1`)
			want(t, s, r, "POST", "/flight-recordings", `{"delaySeconds":3600}`, 200, `"data":2`)
			want(t, s, r, "POST", "/flight-recordings", "", 200, `"data":3`)
			want(t, s, r, "GET", "/flight-recordings", "", 200, `"id":1,"state":"RUNNING","startDate":"`, `"description":"ours"`, `{"id":2,"state":"DELAYED"}`)
			want(t, s, r, "GET", "/flight-recordings?ids=2", "", 200, `"data":[{"id":2,"state":"DELAYED"}]`)

			want(t, s, role.Service, "POST", "/users", `{"id":7,"password":"123456"}`, 200)
			status, data := ask(t, s, r, "GET", "/flight-recordings/jfr?id=1", "")
			if status != 200 {
				t.Fatalf("the download is %d %s", status, data)
			}
			path := filepath.Join(t.TempDir(), "1.jfr")
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			var admin, sql int
			for _, e := range jfrtest.Check(t, path) {
				if e.Type == "app.AdminRequest" && e.Text("operation") == "createFlightRecording" && e.Number("status") == 200 {
					admin++
				}
				if e.Type == "app.SqlTransaction" && e.Text("engine") == "sqlite" && strings.Contains(e.Text("slowestStatement"), " ") {
					sql++
				}
			}
			if admin == 0 || sql == 0 {
				t.Errorf("the recording has %d admin requests and %d transactions", admin, sql)
			}

			want(t, s, r, "GET", "/flight-recordings/jfr?id=99", "", 404, `"code":1302`)
			want(t, s, r, "GET", "/flight-recordings/jfr?id=2", "", 406, `"code":1310`, `"exception":"`)
			want(t, s, r, "GET", "/flight-recordings/jfr", "", 400, `"code":1102`, "id")
			for _, kind := range recording.ProfileKinds {
				path := "/flight-recordings/pprof?kind=" + string(kind)
				status, data := ask(t, s, r, "GET", path+"&id=1", "")
				if p, err := profile.ParseData([]byte(data)); status != 200 || err != nil || len(p.SampleType) == 0 {
					t.Errorf("the %s profile is %d, %v", kind, status, err)
				}
				want(t, s, r, "GET", path+"&id=99", "", 404, `"code":1302`)
				want(t, s, r, "GET", path+"&id=2", "", 406, `"code":1310`, `"exception":"`)
			}
			want(t, s, r, "GET", "/flight-recordings/pprof?id=1", "", 400, `"code":1102`, "kind")
			want(t, s, r, "GET", "/flight-recordings/pprof?id=1&kind=threads", "", 400, `"code":1102`, "kind")
			want(t, s, r, "GET", "/flight-recordings/pprof?kind=cpu", "", 400, `"code":1102`, "id")
			want(t, s, r, "GET", "/flight-recordings/trace?id=1", "", 404, `"code":1302`, "go.ExecutionTrace")
			want(t, s, r, "GET", "/flight-recordings/trace?id=2", "", 406, `"code":1310`, `"exception":"`)
			want(t, s, r, "GET", "/flight-recordings/trace", "", 400, `"code":1102`, "id")
			for body, name := range map[string]string{
				`{"durationSeconds":-1}`:                                      "durationSeconds",
				`{"maxSizeBytes":-1}`:                                         "maxSizeBytes",
				`{"maxAgeSeconds":-1}`:                                        "maxAgeSeconds",
				`{"delaySeconds":-1}`:                                         "delaySeconds",
				`{"customSettings":{"app.Nothing#enabled":"true"}}`:           "app.Nothing#enabled",
				`{"customSettings":{"app.SqlTransaction#threshold":"a"}}`:     "app.SqlTransaction#threshold",
				`{"customSettings":{"template":"fast"}}`:                      "template",
				`{"description":"` + strings.Repeat("x", 1001) + `"}`:         "description",
				`{"customSettings":{"app.SqlTransaction#threshold":{"a":1}}}`: "customSettings",
			} {
				want(t, s, r, "POST", "/flight-recordings", body, 400, `"code":1102`, name)
			}
			want(t, s, r, "PUT", "/flight-recordings?ids=2,3,99", "", 200, `"matchedCount":2,"modifiedCount":1`)
			want(t, s, r, "GET", "/flight-recordings/jfr?id=1&close=true", "", 200)
			want(t, s, r, "GET", "/flight-recordings?ids=1,3", "", 200, `"data":[{"id":1,"state":"CLOSED"`, `"closeDate"`)
			want(t, s, r, "DELETE", "/flight-recordings", "", 400, `"code":1301`)
			want(t, s, r, "DELETE", "/flight-recordings?ids=1,2,3", "", 200, `"deletedCount":2`)
			if status, body := ask(t, s, r, "GET", "/flight-recordings", ""); status != 204 {
				t.Errorf("the list is %d %s", status, body)
			}
		})
	}
}

func TestFlightRecordingsShowNoSecret(t *testing.T) {
	const secret = "pl4nt3dS3cr3t"
	t.Setenv("EXAMPLE_PASSWORD", secret)
	s := apptest.Start(t, role.All, "app.plugin.network.proxy.password="+secret, "example.plugin.password="+secret)
	want(t, s, role.Service, "POST", "/flight-recordings",
		`{"customSettings":{"template":"profile","app.AdminRequest#threshold":"0 ns","app.SqlTransaction#threshold":"0 ns"}}`, 200, `"data":1`)
	want(t, s, role.Service, "POST", "/users", fmt.Sprintf(`{"id":7,"password":%q,"name":%q}`, secret, secret), 200)
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL(role.Service)+"/users?token="+secret, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", secret)
	req.Header.Set("X-Api-Key", secret)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	status, data := ask(t, s, role.Gateway, "GET", "/flight-recordings/jfr?id=1&close=true", "")
	if status != 200 {
		t.Fatalf("the download is %d", status)
	}
	events, err := jfrtest.Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	var masked bool
	for _, e := range events {
		masked = masked || e.Text("key") == "app.plugin.network.proxy.password" && e.Text("value") == "***"
	}
	if !masked {
		t.Error("the recording does not show that the proxy has a password")
	}
	if strings.Contains(data, secret) {
		t.Error("the recording has the secret")
	}
}

func TestFlightRecordingsShowWhichPluginBurns(t *testing.T) {
	folder := folderOf(t, map[string]string{"burn.js": pluginScript("burner", "'AdminActionHandler'", `
  handleAdminAction() {
    let n = 0;
    for (const end = Date.now() + 300; Date.now() < end;) { n++; }
  }`)})
	s := apptest.Start(t, role.All, "app.plugin.dir="+folder)
	want(t, s, role.Service, "POST", "/flight-recordings", `{"customSettings":{"app.PluginCall#threshold":"50 ms"}}`, 200, `"data":1`)
	path := filepath.Join(t.TempDir(), "1.jfr")
	eventually(t, "the samples of the plugin", func() bool {
		_, data := ask(t, s, role.Service, "GET", "/flight-recordings/jfr?id=1", "")
		events, err := jfrtest.Parse([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		var samples, calls int
		for _, e := range events {
			thread, _ := e.Fields["sampledThread"].(map[string]any)
			if e.Type == "jdk.ExecutionSample" && thread["javaName"] == "plugin burner" {
				samples++
			}
			if e.Type == "app.PluginCall" && e.Text("plugin") == "burner" && e.Text("point") == "AdminActionHandler" && e.Text("outcome") == "ok" {
				calls++
			}
		}
		return samples >= 10 && calls > 0
	})
	if out := jfrtest.Tool(t, "view", "hot-methods", path); !strings.Contains(out, "handleAdminAction") {
		t.Errorf("the plugin is not among the hot methods:\n%s", out)
	}
}
