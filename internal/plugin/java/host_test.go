// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// patience is the time limit of all waits, sufficient on a loaded machine.
const patience = 2 * time.Minute

// waitFor waits until a condition holds.
func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// journal is a log that tests can search.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) has(parts ...string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(j.b.String(), part) })
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// server is the plugin.Server of test plugins.
type server struct {
	mu     sync.Mutex
	values map[string]string
	told   []plugin.Notification
	config map[string]any
}

func newServer() *server { return &server{values: map[string]string{}} }

func (s *server) Node(role.Role) plugin.Node {
	return plugin.Node{ID: "node-1", Role: role.Service, Version: "v1"}
}
func (s *server) Operations() []plugin.Operation { return nil }
func (s *server) Storage() plugin.Storage        { return s }

func (s *server) Call(_ context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	if operation == "refused" {
		return nil, apierr.New(apierr.IllegalArgument, "not this")
	}
	return json.Marshal(map[string]any{"by": by.ID, "operation": operation, "input": input})
}

func (s *server) Config(prefix string) (map[string]any, error) {
	v, _ := s.config[prefix].(map[string]any)
	return v, nil
}

func (s *server) Settings(by plugin.Descriptor) (map[string]any, error) {
	return plugin.SettingsOf(by, nil)
}

func (s *server) Notify(_ context.Context, _ plugin.Descriptor, n plugin.Notification) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, n)
	return nil
}

func (s *server) MeetingEnded(_ context.Context, by plugin.Descriptor, meetingID int64, at time.Time) error {
	return s.Set(context.Background(), by.ID, fmt.Sprintf("meeting %d", meetingID), []byte(at.Format(time.RFC3339Nano)))
}

func (s *server) Get(_ context.Context, id, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[id+"/"+key]
	return []byte(v), ok, nil
}

func (s *server) Set(_ context.Context, id, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[id+"/"+key] = string(value)
	return nil
}

func (s *server) Delete(_ context.Context, id, key string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.values[id+"/"+key]
	delete(s.values, id+"/"+key)
	return ok, nil
}

func (s *server) Keys(_ context.Context, id, prefix string) (keys []string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.values {
		if key, ok := strings.CutPrefix(k, id+"/"); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

func (s *server) get(id, key string) string {
	v, _, _ := s.Get(context.Background(), id, key)
	return string(v)
}

// set stores a value for a plugin to read.
func (s *server) set(id, key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[id+"/"+key] = value
}

// world is a host with its server, its log and the plugins reported as broken.
type world struct {
	*java.Host
	t      testing.TB
	server *server
	log    *journal

	mu     sync.Mutex
	broken []string
}

func newWorld(t testing.TB, change func(*java.Options)) *world {
	t.Helper()
	w := &world{t: t, server: newServer(), log: &journal{}}
	opts := java.Options{
		Server: w.server, Folder: t.TempDir(), Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		HookTimeout: func() time.Duration { return patience }, Flags: javatest.Quick, ClassCache: javatest.ClassCache(),
		Broken: func(module plugin.Module, class, why string, _ bool) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.broken = append(w.broken, module.Descriptor().ID+"/"+class+": "+why)
		},
	}
	if change != nil {
		change(&opts)
	}
	var err error
	if w.Host, err = java.New(opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(w.log.String())
		}
	})
	return w
}

// faults returns the jar of the plugin that causes faults on request.
func faults(t testing.TB, id string) []byte {
	return javatest.Jar(t, javatest.Plugin{ID: id, Version: "1", Class: "faults.FaultsPlugin", Sources: javatest.Sources(t, "testdata/faults")})
}

// load loads a plugin and starts its extensions.
func (w *world) load(id string, jar []byte) plugin.Module {
	w.t.Helper()
	m, err := w.Load(w.t.Context(), plugin.Source{Name: id + ".jar", Data: jar})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range m.Extensions() {
		if err := x.Hook(w.t.Context(), plugin.Start); err != nil {
			w.t.Fatal(err)
		}
	}
	return m
}

// tell calls the plugin for faults and returns its response.
func tell(ctx context.Context, m plugin.Module, what string) (string, error) {
	var r *plugin.RequestHandlerResult
	ok, err := m.Extensions()[0].Call(ctx, plugin.HandleRequest, []any{&plugin.ClientRequest{DeviceType: wire.DeviceType_ANDROID, ClientIP: what}}, &r)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", errors.New("there was no answer")
	}
	return r.Reason, nil
}

// said returns the reports of Options.Broken.
func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.broken)
}

// says checks the response of the plugin for faults.
func (w *world) says(m plugin.Module, what, want string) {
	w.t.Helper()
	if got, err := tell(w.t.Context(), m, what); err != nil || got != want {
		w.t.Errorf("%s: %q, %v", what, got, err)
	}
}

// TestUp verifies that the JVM runs exactly while a plugin is loaded.
func TestUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	if w.Stats().Up {
		t.Error("the host is up before the first plugin")
	}
	m := w.load("one", faults(t, "one"))
	if !w.Stats().Up {
		t.Error("the host is not up")
	}
	if class := m.Extensions()[0].Class(); class != "faults.Faults" {
		t.Errorf("the class is %s", class)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if w.Stats().Up {
		t.Error("the host is up without a plugin")
	}
}
