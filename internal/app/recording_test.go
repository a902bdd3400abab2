// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/pprof/profile"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/recording"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

func TestFlightRecordings(t *testing.T) {
	need.Time(t)
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
	// The header of basic authentication holds it in another form.
	for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte("app:" + secret))} {
		if strings.Contains(data, form) {
			t.Errorf("the recording has %s", form)
		}
	}
}

func TestFlightRecordingsShowWhichPluginBurns(t *testing.T) {
	need.Time(t)
	folder := folderOf(t, map[string]string{"burn.js": pluginScript("burner", "'AdminActionHandler'", `
  handleAdminAction() {
    let n = 0;
    for (const end = Date.now() + 300; Date.now() < end;) { n++; }
  }`)})
	s := apptest.Start(t, role.All, "app.plugin.dir="+folder)
	want(t, s, role.Service, "POST", "/flight-recordings", `{"customSettings":{"app.PluginCall#threshold":"50 ms"}}`, 200, `"data":1`)
	path := filepath.Join(t.TempDir(), "1.jfr")
	eventually(t, "the samples and calls of the plugin", func() bool {
		for range 5 { // What the test itself does is in the recording too.
			want(t, s, role.Service, "GET", "/users", "", 204)
		}
		_, data := ask(t, s, role.Service, "GET", "/flight-recordings/jfr?id=1", "")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(firstRow(jfrtest.Tool(t, "view", "hot-methods", path)), "handleAdminAction") {
			return false
		}
		// A call is in the recording when it has ended, its samples before.
		var samples, calls int
		for _, e := range jfrtest.Check(t, path) {
			thread, _ := e.Fields["sampledThread"].(map[string]any)
			if e.Type == "jdk.ExecutionSample" && thread["javaName"] == "plugin burner" {
				samples++
			}
			if e.Type == "app.PluginCall" && e.Text("plugin") == "burner" && e.Text("point") == "AdminActionHandler" && e.Text("outcome") == "ok" {
				calls++
			}
		}
		return samples > 0 && calls > 0
	})
}

// burningPlugin is a Java plugin whose extension keeps a processor busy, and knows a secret.
const burningPlugin = `
package burning;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.*;

public class Burning extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Burner.class);
    }

    public static class Burner extends AppExtension implements AdminActionHandler {
        @PropertiesPrefix("burning")
        public record Settings(String password) {}

        private String password;
        private long sum;

        @Override
        public void start() {
            password = loadProperties(Settings.class).password();
            System.setProperty("burning.password", password);
        }

        @Override
        public void handleAdminAction(AdminAction action) {
            burn();
        }

        private void burn() {
            for (long end = System.nanoTime() + 500_000_000L; System.nanoTime() < end;) {
                for (int i = 0; i < 1_000_000; i++) {
                    sum = sum * 31 + i;
                }
            }
            try {
                throw new IllegalStateException(password);
            } catch (IllegalStateException e) {
                sum++;
            }
        }
    }
}`

// saveRecording downloads a recording into a file.
func saveRecording(t *testing.T, s *apptest.Server, query string) (path string, data []byte) {
	t.Helper()
	status, body := ask(t, s, role.Service, "GET", "/flight-recordings/jfr?"+query, "")
	if status != 200 {
		t.Fatalf("the download is %d %s", status, body)
	}
	path = filepath.Join(t.TempDir(), "recording.jfr")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, []byte(body)
}

// ofJVM counts the events of a type that a JVM recorded.
func ofJVM(t *testing.T, data []byte) (count int) {
	t.Helper()
	events, err := jfrtest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Type == "jdk.ActiveRecording" {
			count++
		}
	}
	return count
}

func TestTheJVMTakesPartInRecordings(t *testing.T) {
	need.Time(t)
	const secret = "pl4nt3dS3cr3t"
	t.Setenv("EXAMPLE_PASSWORD", secret)
	s := apptest.Start(t, role.All, "burning.password="+secret, "app.plugin.call-timeout-millis=60000", "app.plugin.java.spare=false")
	jar := javatest.Jar(t, javatest.Plugin{
		ID: "burning", Version: "1", Class: "burning.Burning", Sources: map[string]string{"burning/Burning.java": burningPlugin},
	})
	// The recording is there before the JVM.
	want(t, s, role.Service, "POST", "/flight-recordings", `{"customSettings":{"template":"profile"}}`, 200, `"data":1`)
	wantForm(t, s, "/plugins/java", 200, `"id":"burning"`, "burning.jar", jar)
	want(t, s, role.Service, "PUT", "/plugins?ids=burning", `{"status":"STARTED"}`, 200)
	var path string
	var data []byte
	eventually(t, "the samples of the plugin", func() bool {
		want(t, s, role.Service, "GET", "/users", "", 204)
		path, data = saveRecording(t, s, "id=1")
		return strings.Contains(firstRow(jfrtest.Tool(t, "view", "hot-methods", path)), "burning.Burning$Burner.burn")
	})
	for _, e := range jfrtest.Check(t, path) {
		switch e.Type {
		case "jdk.JVMInformation", "jdk.SystemProcess", "jdk.JavaExceptionThrow", "jdk.JavaErrorThrow", "jdk.ProcessStart":
			t.Errorf("the recording has the event %s", e.Type)
		case "jdk.InitialEnvironmentVariable":
			if v := e.Text("value"); e.Text("key") == "EXAMPLE_PASSWORD" && v != "***" {
				t.Errorf("the recording shows %q", v)
			}
		}
	}
	if strings.Contains(string(data), secret) {
		t.Error("the recording has the secret")
	}

	// A crashed JVM loses only events that were not fetched yet, and its successor is recorded,
	// too.
	before := ofJVM(t, data)
	if err := syscall.Kill(javaProcess(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the part of the next JVM", func() bool {
		path, data = saveRecording(t, s, "id=1")
		return ofJVM(t, data) > before
	})
	jfrtest.Check(t, path)
	path, data = saveRecording(t, s, "id=1&close=true")
	jfrtest.Check(t, path)
	if ofJVM(t, data) <= before {
		t.Error("the closed recording lacks the part of the JVM")
	}

	// Without a plugin the JVM ends, and its events are in the file.
	want(t, s, role.Service, "POST", "/flight-recordings", "", 200, `"data":2`)
	eventually(t, "the part of the JVM", func() bool {
		_, data = saveRecording(t, s, "id=2")
		return ofJVM(t, data) > 0
	})
	want(t, s, role.Service, "DELETE", "/plugins?ids=burning", "", 204)
	path, _ = saveRecording(t, s, "id=2&close=true")
	jfrtest.Check(t, path)
}

// firstRow returns the first row of a table that jfr view prints.
func firstRow(out string) string {
	_, rows, _ := strings.Cut(out, "\n---")
	_, rows, _ = strings.Cut(rows, "\n")
	row, _, _ := strings.Cut(rows, "\n")
	return row
}
