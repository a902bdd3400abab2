// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
)

// javaSource is a plugin that appends to messages, and runs some as commands.
const javaSource = `
package suffix;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.*;

public class Suffix extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Appender.class);
    }

    public static class Appender extends AppExtension implements ClientRequestHandler {
        @PropertiesPrefix("suffix")
        public record Settings(String text) {}

        private String text;

        @Override
        public void start() {
            text = loadProperties(Settings.class).text();
            logger().info("started on {}", node().role());
        }

        @Override
        public ClientRequest transform(ClientRequest request) {
            if (!request.request().hasCreateMessageRequest()) {
                return null;
            }
            switch (request.request().getCreateMessageRequest().getText()) {
                case "halt" -> Runtime.getRuntime().halt(3);
                case "exit" -> System.exit(0);
                case "refuse" -> throw new AppException(5010, "not this");
                case "count" -> { return request.editRequest(r -> r.getCreateMessageRequestBuilder().setText("users: " + api().users().query().size())); }
                case "create" -> api().users().create(new im.app.plugin.api.users.UserCreation().id(4711L).name("made"));
                default -> { }
            }
            return request.editRequest(r -> r.getCreateMessageRequestBuilder().setText(r.getCreateMessageRequest().getText() + " VERSION" + text));
        }
    }
}`

// javaPlugin makes a version of the plugin.
func javaPlugin(t *testing.T, version int) []byte {
	return javatest.Jar(t, javatest.Plugin{
		ID: "suffix", Version: strconv.Itoa(version), Class: "suffix.Suffix",
		Sources: map[string]string{"suffix/Suffix.java": strings.ReplaceAll(javaSource, "VERSION", strconv.Itoa(version))},
	})
}

// form sends archives, each with the name of its field.
func form(t *testing.T, s *apptest.Server, target string, archives ...any) (int, string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(archives); i += 2 {
		part, err := w.CreateFormFile(archives[i].(string), "whatever")
		if err == nil {
			_, err = part.Write(archives[i+1].([]byte))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL(role.Service)+target, &b)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	req.Header.Set("Content-Type", w.FormDataContentType())
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

// wantForm checks a part of an answer.
func wantForm(t *testing.T, s *apptest.Server, target string, status int, part string, archives ...any) {
	t.Helper()
	if got, answer := form(t, s, target, archives...); got != status || !strings.Contains(answer, part) {
		t.Errorf("%s: %d %s lacks %s", target, got, answer, part)
	}
}

// TestJavaPlugins runs a Java plugin through all states on a server, with clients, crashes and
// System.exit.
func TestJavaPlugins(t *testing.T) {
	need.Time(t)
	dir := filepath.Join(t.TempDir(), "plugins")
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.java.allow-save=true", "suffix.text=*", "app.plugin.call-timeout-millis=60000", "app.plugin.java.spare=false")
	for _, id := range []string{"5", "6"} {
		want(t, s, role.Service, "POST", "/users", fmt.Sprintf(`{"id":%s,"password":"secret"}`, id), 200)
	}
	wantForm(t, s, "/plugins/java", 400, "evil.jar: the file is not a jar", "evil.jar", []byte("no archive"))
	wantForm(t, s, "/plugins/java?dryRun=true", 200, `"id":"suffix","version":"1"`, "suffix.jar", javaPlugin(t, 1))
	want(t, s, role.Service, "GET", "/plugins", "", 204)
	wantForm(t, s, "/plugins/java?save=true", 400, "none of the plugins was added", "suffix.jar", javaPlugin(t, 1), "evil.jar", []byte("no archive"))
	want(t, s, role.Service, "GET", "/plugins", "", 204)
	wantForm(t, s, "/plugins/java?save=true", 200, `"savedAs":"_network_.suffix.jar"`, "suffix.jar", javaPlugin(t, 1))
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 {
		t.Errorf("the folder has %v", files)
	}
	wantForm(t, s, "/plugins/java", 409, `"code":1303`, "suffix.jar", javaPlugin(t, 2))
	wantForm(t, s, "/plugins/java?replace=true", 200, `"replaced":true`, "suffix.jar", javaPlugin(t, 2))

	sender, reader := chat.Connect(t, s.ClientURLs()[1]), chat.Connect(t, s.ClientURLs()[1])
	sender.MustLogin(5, chat.WithPassword("secret"))
	reader.MustLogin(6, chat.WithPassword("secret"))
	try := func(text string, code int32) {
		t.Helper()
		to := int64(6)
		sender.WantCode(&wire.CreateMessageRequest{RecipientId: &to, Text: &text}, code)
	}
	say := func(text, heard string) {
		t.Helper()
		try(text, 1000)
		if got := reader.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText(); got != heard {
			t.Errorf("%q was heard as %q", text, got)
		}
	}
	say("hi", "hi")
	want(t, s, role.Service, "PUT", "/plugins?ids=suffix", `{"status":"STARTED"}`, 200, `"modifiedCount":1`)
	say("hi", "hi 2*")
	wantForm(t, s, "/plugins/java?replace=true", 200, `"replaced":true`, "suffix.jar", javaPlugin(t, 3))
	say("hi", "hi 3*")
	say("count", "users: 2")
	say("create", "create 3*")
	want(t, s, role.Service, "GET", "/audit?pluginIds=suffix", "", 200,
		`"loginName":"plugin:suffix","pluginId":"suffix","pluginVersion":"3","onBehalfOf":"user 5"`, `"operation":"createUser","targetIds":["4711"]`)
	try("refuse", 5010)
	want(t, s, role.Gateway, "GET", "/plugins?ids=suffix", "", 200, `"language":"JAVA"`, `"state":"STARTED"`, `"extensionClass":"suffix.Suffix$Appender"`, `"ClientRequestHandler.transform"`)
	want(t, s, role.Gateway, "GET", "/metrics?names=plugin.java.up,plugin.java.resident", "", 200, "plugin.java.up", "plugin.java.resident")

	// The JVM is killed, and the plugin is restarted.
	if err := syscall.Kill(javaProcess(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the JVM", func() bool { // Running calls are lost.
		to, text := int64(6), "hi"
		answer, err := sender.Do(t.Context(), &wire.CreateMessageRequest{RecipientId: &to, Text: &text})
		return err == nil && answer.GetCode() == 1000
	})
	if got := reader.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText(); got != "hi 3*" {
		t.Errorf("after the crash %q is heard", got)
	}
	say("hi", "hi 3*")

	// After repeated crashes the plugin is quarantined. Whether the kill above counts depends on
	// whether it was being called.
	try("halt", 1200)
	eventually(t, "the quarantine", func() bool {
		_, answer := ask(t, s, role.Service, "GET", "/plugins?ids=suffix", "")
		if strings.Contains(answer, `"quarantine":"the Java host died 5 times within 1m0s`) {
			return strings.Contains(answer, `"state":"STARTED"`) && strings.Contains(answer, `"running":false`)
		}
		to, text := int64(6), "halt"
		if answer, err := sender.Do(t.Context(), &wire.CreateMessageRequest{RecipientId: &to, Text: &text}); err == nil && answer.GetCode() == 1000 {
			t.Error("a message was sent although its filter ended")
		}
		return false
	})
	try("hi", 1201) // What it might have refused is blocked.
	want(t, s, role.Service, "GET", "/health", "", 200, `"name":"plugins","status":"DEGRADED"`, "the Java host died 5 times")
	want(t, s, role.Service, "GET", "/plugins", "", 200, `"quarantine":"the Java host died 5 times`)
	want(t, s, role.Service, "PUT", "/plugins?ids=suffix", `{"status":"RESUMED"}`, 200, `"modifiedCount":1`)
	say("hi", "hi 3*")

	// A plugin may stop the server.
	to, text := int64(6), "exit"
	if _, err := sender.Send(&wire.CreateMessageRequest{RecipientId: &to, Text: &text}); err != nil {
		t.Fatal(err)
	}
	<-s.Done
}

// javaProcess is the JVM that this process started. Without a spare, there is only one.
func javaProcess(t *testing.T) int {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // The thread has ended.
		}
		for pid := range strings.FieldsSeq(string(data)) {
			command, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err != nil || !strings.Contains(string(command), "im.app.plugin.host.Main") {
				continue
			}
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("there is no JVM")
	return 0
}

// construction is a plugin that records the process of its construction.
const construction = `
package made;
import im.app.plugin.*;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.io.*;
import java.nio.file.*;
import java.util.*;

public class Made extends AppPlugin {
    static { note("class"); }
    public Made() { note("plugin"); }

    static void note(String what) {
        try {
            Files.writeString(Path.of("FILE"), what + " " + ProcessHandle.current().pid() + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Handler.class); }

    public static class Handler extends AppExtension implements ClientRequestHandler {
        public Handler() { note("extension"); }
    }
}`

// TestDryRunOfJarHasItsOwnJVM checks that a dry run executes nothing of a jar in the JVM of the
// other plugins, and that its own JVM ends.
func TestDryRunOfJarHasItsOwnJVM(t *testing.T) {
	file := filepath.Join(t.TempDir(), "made")
	jar := javatest.Jar(t, javatest.Plugin{ID: "made", Version: "1", Class: "made.Made", Sources: map[string]string{"made/Made.java": strings.ReplaceAll(construction, "FILE", file)}})
	s := apptest.Start(t, []role.Role{role.Service}, "app.plugin.java.allow-save=true", "app.plugin.java.spare=false")
	wantForm(t, s, "/plugins/java", 200, `"id":"suffix"`, "suffix.jar", javaPlugin(t, 1))
	jvm := javaProcess(t)
	production := strconv.Itoa(jvm)
	processes := func() []string {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var pids []string
		for line := range strings.Lines(string(data)) {
			pids = append(pids, strings.Fields(line)[1])
		}
		return pids
	}
	wantForm(t, s, "/plugins/java?dryRun=true", 200, `"id":"made","version":"1"`, "made.jar", jar)
	dry := processes()
	if len(dry) == 0 || slices.Contains(dry, production) {
		t.Fatalf("the dry run made objects in the processes %v, the JVM of the plugins is %s", dry, production)
	}
	for _, pid := range dry {
		eventually(t, "the end of the JVM of the dry run", func() bool {
			_, err := os.Stat("/proc/" + pid)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
	if javaProcess(t) != jvm {
		t.Error("the JVM of the plugins is another one after the dry run")
	}
	wantForm(t, s, "/plugins/java", 200, `"id":"made"`, "made.jar", jar)
	if all := processes(); !slices.Contains(all[len(dry):], production) {
		t.Errorf("without a dry run objects are made in the processes %v, not in %s", all[len(dry):], production)
	}
}
