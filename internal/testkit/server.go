// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/app"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/bundle"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
)

// A server is a test's server with the plugin.
type server struct {
	script *script
	// folder contains the plugin or its sources.
	folder string
	app    *app.App
	plugin *plugin.Plugin
	clock  *js.Clock
	cancel context.CancelFunc
	// ended is closed when the server has stopped; err is set before.
	ended chan struct{}
	err   error

	mu            sync.Mutex
	lines         []logLine
	notifications []plugin.Notification
	calls         []apiCall
	clients       []*client
	waiting       map[int32]*request
	nextRequest   int32
	held          map[int32]bool
}

// usual are the default properties of test servers.
var usual = []string{
	"app.service.admin-api.http.port=0", "app.gateway.admin-api.http.port=0",
	"app.service.admin-api.http.host=127.0.0.1", "app.gateway.admin-api.http.host=127.0.0.1",
	"app.gateway.websocket.enabled=false", "app.gateway.tcp.enabled=true", "app.gateway.tcp.port=0", "app.gateway.tcp.host=127.0.0.1",
	"app.console.enabled=false", "app.logging.console.enabled=false", "app.logging.file.enabled=false", "app.security.password.bcrypt-cost=4",
	"app.health-check.cpu.unhealthy-load-threshold-percentage=100", "app.health-check.overload.max-wait-millis=0",
	"app.plugin.java.spare=false", "app.plugin.abort-on-failure=true", "app.plugin.enabled=true",
}

// A startInput is the input of a server's start.
type startInput struct {
	Plugin     string         `json:"plugin"`
	Properties map[string]any `json:"properties"`
	Now        string         `json:"now"`
}

// pluginInfo is information about the plugin for the test.
type pluginInfo struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

// start starts a test's server.
func (s *script) start(ctx context.Context, in startInput) (*pluginInfo, error) {
	s.mu.Lock()
	running := s.server != nil
	s.mu.Unlock()
	if running {
		return nil, errors.New("the test has a server already: stop() that one first")
	}
	file, err := s.pluginFile(in.Plugin)
	if err != nil {
		return nil, err
	}
	folder := filepath.Dir(file)
	s.runner.servers++
	home := filepath.Join(s.runner.home, strconv.Itoa(s.runner.servers))
	if file, err = s.loadable(file, home); err != nil {
		return nil, err
	}
	set := append(slices.Clone(usual), "app.plugin.dir="+filepath.Dir(file))
	properties, err := flatten("", in.Properties)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(config.Options{Home: home, Set: append(set, properties...)})
	if err != nil {
		return nil, err
	}
	v := &server{
		script: s, folder: folder, ended: make(chan struct{}), waiting: map[int32]*request{}, held: map[int32]bool{},
	}
	if in.Now != "" {
		now, err := time.Parse(time.RFC3339, in.Now)
		if err != nil {
			return nil, fmt.Errorf("start: now: %w", err)
		}
		v.clock = js.NewClock(now)
	}
	s.mu.Lock()
	s.server = v
	s.mu.Unlock()
	if err := v.run(c, filepath.Base(file)); err != nil {
		s.keepLog(v)
		s.mu.Lock()
		s.server = nil
		s.mu.Unlock()
		return nil, err
	}
	return &pluginInfo{v.plugin.ID, v.plugin.Version}, nil
}

// run starts the server and returns when it is ready.
func (v *server) run(c *config.Config, file string) error {
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	ready := make(chan *app.App, 1)
	go func() {
		defer close(v.ended)
		v.err = app.Run(ctx, app.Options{
			Roles: role.All, Config: c, OnlyPlugin: file, Log: &recorder{server: v}, Scripts: v.scripts, HoldSchedules: v.clock != nil, Ready: func(a *app.App) { ready <- a },
		})
	}()
	select {
	case v.app = <-ready:
	case <-v.ended:
		cancel()
		return fmt.Errorf("start: %w", v.err)
	}
	list := v.app.PluginManager().Plugins()
	if len(list) == 0 {
		_ = v.stop()
		return fmt.Errorf("start: the server did not load %q", file)
	}
	v.plugin = list[0]
	return nil
}

// scripts puts the plugin's clock and network under the control of the test.
func (v *server) scripts(o *js.Options) {
	o.HTTP = &http.Client{Transport: v}
	o.Clock = v.clock
	o.Coverage, o.CoverageDir = v.script.runner.coverage, filepath.ToSlash(v.folder)
	o.LogLines = nil
	o.Uncaught = func(err error) { v.script.problem(fmt.Errorf("the plugin: %w", err)) }
	o.Server = &recordedServer{o.Server, v}
}

// stop stops the server and waits for its end. A second call does nothing.
func (v *server) stop() error {
	v.mu.Lock()
	clients := v.clients
	v.clients = nil
	for _, r := range v.waiting { // Otherwise the server would wait for the plugin, which waits for the test.
		r.reply(&response{Error: "the test has ended"})
	}
	v.mu.Unlock()
	for _, c := range clients {
		c.close()
	}
	v.cancel()
	<-v.ended
	return v.err
}

// stopServer stops the server of the finished test, if there is one.
func (s *script) stopServer() error {
	s.mu.Lock()
	v := s.server
	s.server = nil
	s.mu.Unlock()
	if v == nil {
		return nil
	}
	err := v.stop()
	s.keepLog(v)
	return err
}

// keepLog keeps the warnings and errors of a stopped server, for a failed test.
func (s *script) keepLog(v *server) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range v.lines {
		if l.Level == "warn" || l.Level == "error" {
			s.log = append(s.log, l.Level+" "+l.Text)
		}
	}
}

// current returns the server of the running test.
func (s *script) current() (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server == nil || s.server.app == nil {
		return nil, errors.New("there is no server: await start() first")
	}
	return s.server, nil
}

// pluginFile returns the file of the plugin: the given one, or the one that the test file is named
// after.
func (s *script) pluginFile(name string) (string, error) {
	if name != "" {
		file := filepath.Join(filepath.Dir(s.file), filepath.FromSlash(name))
		if _, err := os.Stat(file); err != nil {
			return "", fmt.Errorf("start: the plugin: %w", err)
		}
		return file, nil
	}
	base := testFile.ReplaceAllString(s.file, "")
	for _, end := range []string{".ts", ".js"} {
		if _, err := os.Stat(base + end); err == nil {
			return base + end, nil
		}
	}
	return "", fmt.Errorf("start: there is neither %s.ts nor %[1]s.js beside the tests: name the file, as start({ plugin: './main.js' })", filepath.Base(base))
}

// loadable returns a file that a server can load: the plugin itself, or the script built from it.
func (s *script) loadable(file, home string) (string, error) {
	if !strings.HasSuffix(file, ".ts") {
		return file, nil
	}
	name := strings.TrimSuffix(filepath.Base(file), ".ts") + ".js"
	r, err := bundle.Build(bundle.Options{Entry: file, Output: filepath.Join(filepath.Dir(file), name)})
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "plugin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("write the plugin: %w", err)
	}
	script := filepath.Join(dir, name)
	if err := os.WriteFile(script, r.Script, 0o600); err != nil {
		return "", fmt.Errorf("write the plugin: %w", err)
	}
	return script, nil
}

// flatten converts nested properties to items of the form "a.b[0]=value".
func flatten(name string, value any) (list []string, err error) {
	add := func(name string, value any) {
		var more []string
		if err == nil {
			more, err = flatten(name, value)
			list = append(list, more...)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			add(strings.TrimPrefix(name+"."+k, "."), v)
		}
	case []any:
		for i, v := range value {
			add(fmt.Sprintf("%s[%d]", name, i), v)
		}
	case nil:
	case float64:
		list = []string{name + "=" + strconv.FormatFloat(value, 'f', -1, 64)}
	case string, bool:
		list = []string{fmt.Sprintf("%s=%v", name, value)}
	default:
		err = fmt.Errorf("start: the property %s cannot be %v", name, value)
	}
	return list, err
}

// A request is one of the plugin that waits for its response.
type request struct {
	id     int32
	req    *http.Request
	body   []byte
	answer chan *response
}

// reply responds to the request; only the first response counts.
func (r *request) reply(a *response) {
	select {
	case r.answer <- a:
	default:
	}
}

// A response is the response to a request.
type response struct {
	Status  int32      `json:"status"`
	Headers [][]string `json:"headers"`
	Body    []byte     `json:"body"`
	Error   string     `json:"error"`
	Problem string     `json:"problem"`
}

// RoundTrip implements http.RoundTripper: the test responds.
func (v *server) RoundTrip(req *http.Request) (*http.Response, error) {
	r := &request{req: req, answer: make(chan *response, 1)}
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		r.body = b
	}
	v.mu.Lock()
	v.nextRequest++
	r.id = v.nextRequest
	v.waiting[r.id] = r
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.waiting, r.id)
		delete(v.held, r.id)
	}()
	select {
	case v.script.requests <- r:
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	select {
	case a := <-r.answer:
		return a.response(req)
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// response converts a response for the plugin.
func (a *response) response(req *http.Request) (*http.Response, error) {
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	h := http.Header{}
	for _, kv := range a.Headers {
		if len(kv) == 2 {
			h.Add(kv[0], kv[1])
		}
	}
	return &http.Response{
		StatusCode: int(a.Status), Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(int(a.Status))), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(string(a.Body))), ContentLength: int64(len(a.Body)), Request: req,
	}, nil
}

// recorder records the log of the plugin, and of the server about it.
type recorder struct {
	server *server
	attrs  []slog.Attr
}

// A logLine is a log record.
type logLine struct {
	Level string `json:"level"`
	Text  string `json:"text"`
}

// saying passes on the output of tests.
type saying struct {
	file string
	said func(file, text string)
}

// Enabled implements slog.Handler.
func (s *saying) Enabled(context.Context, slog.Level) bool { return s.said != nil }

// Handle implements slog.Handler.
func (s *saying) Handle(_ context.Context, record slog.Record) error {
	if record.Message == said {
		record.Attrs(func(a slog.Attr) bool {
			if a.Key == "text" {
				s.said(s.file, a.Value.String())
			}
			return true
		})
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (s *saying) WithAttrs([]slog.Attr) slog.Handler { return s }

// WithGroup implements slog.Handler.
func (s *saying) WithGroup(string) slog.Handler { return s }

// said is the log message of a plugin's output.
const said = "plugin says"

// Enabled implements slog.Handler.
func (r *recorder) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (r *recorder) Handle(_ context.Context, record slog.Record) error {
	isOfPlugin, text := record.Message == said, record.Message
	for _, a := range r.attrs {
		isOfPlugin = isOfPlugin || a.Key == "plugin"
	}
	record.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "plugin":
			isOfPlugin = true
		case record.Message == said && a.Key == "text":
			text = a.Value.String()
		case record.Message != said && a.Key == "error":
			text += ": " + a.Value.String()
		}
		return true
	})
	if !isOfPlugin || record.Message != said && record.Level < slog.LevelWarn {
		return nil
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	r.server.lines = append(r.server.lines, logLine{strings.ToLower(record.Level.String()), text})
	return nil
}

// WithAttrs implements slog.Handler.
func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &recorder{r.server, append(slices.Clip(r.attrs), attrs...)}
}

// WithGroup implements slog.Handler.
func (r *recorder) WithGroup(string) slog.Handler { return r }
