// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/app"
	"example.org/app/internal/config"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// none is the type of a missing parameter or result.
type none struct{}

// function declares a function of kit.js with one parameter.
func function[P, R any](do func(context.Context, P) (R, error)) *js.Function {
	f := &js.Function{Do: func(ctx context.Context, args []any) (any, error) {
		var p P
		if len(args) > 0 {
			p = args[0].(P)
		}
		return do(ctx, p)
	}}
	if t := reflect.TypeFor[P](); t != reflect.TypeFor[none]() {
		f.Params = []reflect.Type{t}
	}
	if t := reflect.TypeFor[R](); t != reflect.TypeFor[none]() {
		f.Result = t
	}
	return f
}

// A loginInput is the input of a client's login.
type loginInput struct {
	UserID        int64             `json:"userId"`
	Password      *string           `json:"password"`
	DeviceType    wire.DeviceType   `json:"deviceType"`
	DeviceDetails map[string]string `json:"deviceDetails"`
	UserStatus    *wire.UserStatus  `json:"userStatus"`
}

// A requestInfo is a plugin's request, for the test.
type requestInfo struct {
	ID      int32             `json:"id"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body"`
}

// An apiCall is a plugin's call of an admin operation.
type apiCall struct {
	Operation string `json:"operation"`
	Input     any    `json:"input"`
}

// functions returns the functions that kit.js imports.
func (s *script) functions() map[string]*js.Function {
	all := map[string]*js.Function{
		"start": function(s.start),
		"stop":  function(func(context.Context, none) (none, error) { return none{}, s.stopServer() }),
		"login": function(s.login),
		"disconnect": function(func(_ context.Context, id int32) (none, error) {
			c, err := s.client(id)
			if err == nil {
				c.close()
			}
			return none{}, err
		}),
		"request": {
			Params: []reflect.Type{reflect.TypeFor[int32](), reflect.TypeFor[*wire.AppRequest]()}, Result: reflect.TypeFor[*wire.AppNotification](),
			Do: func(ctx context.Context, args []any) (any, error) {
				c, err := s.client(args[0].(int32))
				if err != nil {
					return nil, err
				}
				return c.do(ctx, args[1].(*wire.AppRequest))
			},
		},
		"notifications": {
			Params: []reflect.Type{reflect.TypeFor[int32](), reflect.TypeFor[float64](), reflect.TypeFor[float64]()},
			Result: reflect.TypeFor[[]*wire.AppNotification](),
			Do: func(ctx context.Context, args []any) (any, error) {
				c, err := s.client(args[0].(int32))
				if err != nil {
					return nil, err
				}
				return c.notifications(ctx, int(args[1].(float64)), millis(args[2].(float64))), nil
			},
		},
		"nextRequest": function(s.nextRequest),
		"hold": ofServer(s, func(_ context.Context, v *server, id int32) (none, error) {
			if v.waiting[id] != nil {
				v.held[id] = true
			}
			return none{}, nil
		}),
		"answer": {
			Params: []reflect.Type{reflect.TypeFor[int32](), reflect.TypeFor[response]()},
			Do: func(_ context.Context, args []any) (any, error) {
				return nil, s.answer(args[0].(int32), args[1].(response))
			},
		},
		"logs": ofServer(s, func(_ context.Context, v *server, _ none) ([]logLine, error) {
			return append([]logLine{}, v.lines...), nil
		}),
		"sent": ofServer(s, func(_ context.Context, v *server, _ none) ([]plugin.Notification, error) {
			return append([]plugin.Notification{}, v.notifications...), nil
		}),
		"apiCalls": ofServer(s, func(_ context.Context, v *server, _ none) ([]apiCall, error) {
			return append([]apiCall{}, v.calls...), nil
		}),
		"now":     function(s.now),
		"advance": function(s.advance),
		"admin":   function(s.admin),
	}
	s.pointFunctions(all)
	return all
}

// ofServer declares a function that reads the state of the test's server, under its lock.
func ofServer[P, R any](s *script, do func(context.Context, *server, P) (R, error)) *js.Function {
	return function(func(ctx context.Context, p P) (r R, err error) {
		v, err := s.current()
		if err != nil {
			return r, err
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		return do(ctx, v, p)
	})
}

func millis(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }

// login opens a session and returns the client's number.
func (s *script) login(ctx context.Context, in loginInput) (int32, error) {
	v, err := s.current()
	if err != nil {
		return 0, err
	}
	c, err := v.connect(ctx)
	if err != nil {
		return 0, err
	}
	_, err = c.do(ctx, &wire.AppRequest{Kind: &wire.AppRequest_CreateSessionRequest{CreateSessionRequest: &wire.CreateSessionRequest{
		Version: wire.Version, UserId: in.UserID, Password: in.Password, DeviceType: in.DeviceType, DeviceDetails: in.DeviceDetails, UserStatus: in.UserStatus,
	}}})
	if err != nil {
		c.close()
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clients = append(v.clients, c)
	return int32(len(v.clients) - 1), nil
}

func (s *script) client(id int32) (*client, error) {
	v, err := s.current()
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if int(id) >= len(v.clients) {
		return nil, errors.New("the client belongs to a server that was stopped")
	}
	return v.clients[id], nil
}

// nextRequest returns the next request of a plugin, nil at the end of the file.
func (s *script) nextRequest(ctx context.Context, _ none) (*requestInfo, error) {
	select {
	case r := <-s.requests:
		headers := map[string]string{}
		for k, list := range r.req.Header {
			headers[strings.ToLower(k)] = strings.Join(list, ", ")
		}
		return &requestInfo{r.id, r.req.Method, r.req.URL.String(), headers, append([]byte{}, r.body...)}, nil
	case <-ctx.Done():
		return nil, nil
	}
}

// answer responds to a request of the plugin, which may have stopped waiting.
func (s *script) answer(id int32, a response) error {
	if a.Problem != "" {
		s.problem(errors.New(a.Problem))
		a.Error = a.Problem
	}
	s.mu.Lock()
	v := s.server
	s.mu.Unlock()
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if r := v.waiting[id]; r != nil {
		r.reply(&a)
	}
	delete(v.held, id)
	return nil
}

// now returns the time of the plugin's clock in milliseconds.
func (s *script) now(context.Context, none) (float64, error) {
	v, err := s.current()
	if err != nil {
		return 0, err
	}
	if v.clock == nil {
		return float64(time.Now().UnixMilli()), nil
	}
	return float64(v.clock.Now().UnixMilli()), nil
}

// advance advances the plugin's clock.
func (s *script) advance(ctx context.Context, ms float64) (none, error) {
	v, err := s.current()
	if err != nil {
		return none{}, err
	}
	if v.clock == nil {
		return none{}, errors.New("the clock of the plugin goes by itself: hold it with start({ now: '2030-01-01T00:00:00Z' })")
	}
	manager, target := v.app.PluginManager(), v.clock.Now().Add(millis(ms))
	for {
		slot := manager.Timetable.NextSlot(v.clock.Now())
		if slot.IsZero() || slot.After(target) {
			return none{}, v.clock.Advance(ctx, target.Sub(v.clock.Now()), v.heldRequests)
		}
		if err := v.clock.Advance(ctx, slot.Sub(v.clock.Now()), v.heldRequests); err != nil {
			return none{}, err
		}
		if err := v.runSlot(ctx, manager, slot); err != nil {
			return none{}, err
		}
	}
}

// heldRequests returns the number of the plugin's requests that wait for an async function of the
// test.
func (v *server) heldRequests() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.held)
}

// runSlot runs due schedules. It does not wait for one that waits for a timer, because the clock
// must be advanced for that.
func (v *server) runSlot(ctx context.Context, manager *plugin.Manager, slot time.Time) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		manager.Timetable.RunSlot(slot)
	}()
	for {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
		if waits, err := v.clock.Waits(ctx, v.heldRequests); err != nil || waits {
			return err
		}
	}
}

// pointFunctions adds the methods of all extension points, by the names of both.
func (s *script) pointFunctions(into map[string]*js.Function) {
	for _, p := range plugin.Points {
		for _, m := range p.Methods {
			f := &js.Function{Result: m.Result, Do: func(ctx context.Context, args []any) (any, error) { return s.callPoint(ctx, m, args) }}
			for _, param := range m.Params {
				f.Params = append(f.Params, param.Type)
			}
			into[p.Name+"."+m.Name] = f
		}
	}
}

// callPoint calls a method of the plugin like the server does.
func (s *script) callPoint(ctx context.Context, m *plugin.Method, args []any) (any, error) {
	v, err := s.current()
	if err != nil {
		return nil, err
	}
	manager := v.app.PluginManager()
	if !manager.Calls.Has(m) {
		return nil, fmt.Errorf("call: the plugin has no %s.%s", m.Point.Name, m.Name)
	}
	return manager.Calls.Invoke(ctx, m, args)
}

// An adminInput is a request of an administrator.
type adminInput struct {
	Method, Path string
	Body         any
}

// An adminAnswer is the response to an adminInput.
type adminAnswer struct {
	Status  int32             `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

// admin sends a request to the admin interface as root.
func (s *script) admin(ctx context.Context, in adminInput) (*adminAnswer, error) {
	v, err := s.current()
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if in.Body != nil {
		data, err := json.Marshal(in.Body)
		if err != nil {
			return nil, fmt.Errorf("admin: encode the body: %w", err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, in.Method, v.app.URL(role.Service)+in.Path, body)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	req.SetBasicAuth(administrator.RootLoginName, config.Default().Security.Password.InitialRootPassword.Reveal())
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("admin: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("admin: read the answer: %w", err)
	}
	headers := map[string]string{}
	for k, list := range res.Header {
		headers[strings.ToLower(k)] = strings.Join(list, ", ")
	}
	return &adminAnswer{int32(res.StatusCode), headers, string(data)}, nil
}

// testServer is the server API for a file of tests: the admin interface as root, and the plugin's
// storage.
type testServer script

var operations = sync.OnceValue(app.PluginOperations)

// Node implements plugin.Server.
func (s *testServer) Node(r role.Role) plugin.Node {
	return plugin.Node{ID: "test", Role: r, Version: app.Build().Version}
}

// Operations implements plugin.Server.
func (s *testServer) Operations() []plugin.Operation { return operations() }

// Call implements plugin.Server.
func (s *testServer) Call(ctx context.Context, _ plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	v, err := (*script)(s).current()
	if err != nil {
		return nil, err
	}
	return v.app.InvokeAsRoot(ctx, operation, input)
}

// Config implements plugin.Server.
func (s *testServer) Config(string) (map[string]any, error) {
	return nil, errors.New("tests have no properties: give them to start()")
}

// Settings implements plugin.Server.
func (s *testServer) Settings(plugin.Descriptor) (map[string]any, error) {
	return nil, errors.New("tests have no settings")
}

// Notify implements plugin.Server.
func (s *testServer) Notify(context.Context, plugin.Descriptor, plugin.Notification) error {
	return errors.New("tests notify nobody: the plugin does")
}

// MeetingEnded implements plugin.Server.
func (s *testServer) MeetingEnded(context.Context, plugin.Descriptor, int64, time.Time) error {
	return errors.New("tests hold no meetings: the plugin does")
}

// Storage implements plugin.Server.
func (s *testServer) Storage() plugin.Storage { return (*testStorage)(s) }

// testStorage is the storage of the plugin under test.
type testStorage script

func (s *testStorage) of() (plugin.Storage, string, error) {
	v, err := (*script)(s).current()
	if err != nil {
		return nil, "", err
	}
	return v.app.PluginStorage(), v.plugin.ID, nil
}

// Get implements plugin.Storage.
func (s *testStorage) Get(ctx context.Context, _, key string) ([]byte, bool, error) {
	storage, id, err := s.of()
	if err != nil {
		return nil, false, err
	}
	return storage.Get(ctx, id, key)
}

// Set implements plugin.Storage.
func (s *testStorage) Set(ctx context.Context, _, key string, value []byte) error {
	storage, id, err := s.of()
	if err != nil {
		return err
	}
	return storage.Set(ctx, id, key, value)
}

// Delete implements plugin.Storage.
func (s *testStorage) Delete(ctx context.Context, _, key string) (bool, error) {
	storage, id, err := s.of()
	if err != nil {
		return false, err
	}
	return storage.Delete(ctx, id, key)
}

// Keys implements plugin.Storage.
func (s *testStorage) Keys(ctx context.Context, _, prefix string) ([]string, error) {
	storage, id, err := s.of()
	if err != nil {
		return nil, err
	}
	return storage.Keys(ctx, id, prefix)
}

// recordedServer records the plugin's calls of the server.
type recordedServer struct {
	plugin.Server
	server *server
}

// Call implements plugin.Server.
func (r *recordedServer) Call(ctx context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	c := apiCall{Operation: operation}
	if err := json.Unmarshal(input, &c.Input); err != nil {
		return nil, apierr.New(apierr.IllegalArgument, "the input of %s is not JSON: %v", operation, err)
	}
	for _, op := range operations() {
		if op.ID == operation {
			c.Operation = fmt.Sprintf("%s.%s", op.Group, op.Name)
		}
	}
	r.server.mu.Lock()
	r.server.calls = append(r.server.calls, c)
	r.server.mu.Unlock()
	return r.Server.Call(ctx, by, operation, input)
}

// Notify implements plugin.Server.
func (r *recordedServer) Notify(ctx context.Context, by plugin.Descriptor, n plugin.Notification) error {
	r.server.mu.Lock()
	r.server.notifications = append(r.server.notifications, n)
	r.server.mu.Unlock()
	return r.Server.Notify(ctx, by, n)
}

var (
	_ plugin.Server  = (*testServer)(nil)
	_ plugin.Storage = (*testStorage)(nil)
)
