// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

// memoryStorage keeps values in memory.
type memoryStorage struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (s *memoryStorage) Get(_ context.Context, id, key string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.m[id+"/"+key]
	return v, ok, nil
}

func (s *memoryStorage) Set(_ context.Context, id, key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key == "full" {
		return errors.New("there is no space")
	}
	s.m[id+"/"+key] = value
	return nil
}

func (s *memoryStorage) Delete(_ context.Context, id, key string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.m[id+"/"+key]
	delete(s.m, id+"/"+key)
	return ok, nil
}

func (s *memoryStorage) Keys(_ context.Context, id, prefix string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for k := range s.m {
		if key, ok := strings.CutPrefix(k, id+"/"); ok && strings.HasPrefix(key, prefix) {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list, nil
}

// testServer is a server made of functions.
type testServer struct {
	node       plugin.Node
	operations []plugin.Operation
	call       func(ctx context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error)
	config     func(prefix string) (map[string]any, error)
	notify     func(ctx context.Context, by plugin.Descriptor, n plugin.Notification) error
	ended      func(ctx context.Context, by plugin.Descriptor, meetingID int64, at time.Time) error
	storage    plugin.Storage
}

func (s testServer) Node(role.Role) plugin.Node     { return s.node }
func (s testServer) Operations() []plugin.Operation { return s.operations }
func (s testServer) Storage() plugin.Storage        { return s.storage }

func (s testServer) Call(ctx context.Context, by plugin.Descriptor, operation string, input json.RawMessage) (json.RawMessage, error) {
	return s.call(ctx, by, operation, input)
}

func (s testServer) Config(prefix string) (map[string]any, error) { return s.config(prefix) }

func (s testServer) Settings(by plugin.Descriptor) (map[string]any, error) {
	return plugin.SettingsOf(by, nil)
}

func (s testServer) Notify(ctx context.Context, by plugin.Descriptor, n plugin.Notification) error {
	return s.notify(ctx, by, n)
}

func (s testServer) MeetingEnded(ctx context.Context, by plugin.Descriptor, meetingID int64, at time.Time) error {
	return s.ended(ctx, by, meetingID, at)
}

type usersInput struct {
	IDs  []int64 `json:"ids"`
	Name string  `json:"name"`
	Page int32   `json:"page"`
}

type usersResult struct {
	Users []struct {
		ID      int64            `json:"id"`
		Name    string           `json:"name"`
		Friends map[string]int64 `json:"friends"`
		Age     int32            `json:"age"`
	} `json:"users"`
	Total int64 `json:"total"`
}

func TestServer(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(format string, args ...any) {
		mu.Lock()
		seen = append(seen, fmt.Sprintf(format, args...))
		mu.Unlock()
	}
	h, _ := newHost(t, Options{Server: testServer{
		node: plugin.Node{ID: "n1", Role: role.Service, Version: "1.0"},
		operations: []plugin.Operation{
			{Group: "users", Name: "query", ID: "queryUsers", Input: reflect.TypeFor[usersInput](), Result: reflect.TypeFor[usersResult]()},
			{Group: "users", Name: "remove", ID: "deleteUsers"},
			{Group: "nodes", Name: "list", ID: "listNodes"},
		},
		call: func(_ context.Context, by plugin.Descriptor, op string, input json.RawMessage) (json.RawMessage, error) {
			note("%s %s %s", by.ID, op, input)
			switch op {
			case "queryUsers":
				return json.RawMessage(`{"users":[{"id":1,"name":"7","friends":{"a":9007199254740993},"age":30}],"total":2}`), nil
			case "listNodes":
				return json.RawMessage(`[{"big":9007199254740993,"small":5,"half":0.5}]`), nil
			default:
				return nil, apierr.New(apierr.ResourceNotFound, "no such user")
			}
		},
		config: func(prefix string) (map[string]any, error) {
			if prefix == "bad" {
				return nil, errors.New("there is no such prefix")
			}
			return map[string]any{"prefix": prefix, "timeout": int64(5000), "list": []any{"a", 1}, "on": true}, nil
		},
		notify: func(_ context.Context, by plugin.Descriptor, n plugin.Notification) error {
			note("%s notifies %v %s", by.ID, n.Recipients, n.Notification.GetCreateMessageRequest().GetText())
			return nil
		},
		storage: &memoryStorage{m: map[string][]byte{}},
	}})
	m := load(t, h, script("const early = app.node.id + app.config('early').prefix;", `
  async queryUploadInfo() {
    const out = { early };
    const attempt = async (name, f) => { try { out[name] = JSON.stringify(await f()) ?? 'undefined'; } catch (e) { out[name] = e.name + ' ' + (e.code ?? '') + ' ' + e.message; } };
    await attempt('query', () => app.api.users.query({ ids: ['9007199254740993', 2, 3n], name: '77', page: 1 }));
    await attempt('list', () => app.api.nodes.list());
    await attempt('circle', () => { const a = {}; a.a = a; return app.api.nodes.list(a); });
    await attempt('huge', () => app.api.nodes.list(new Array(4294967295)));
    await attempt('shared', () => { let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; return app.api.nodes.list(a); });
    await attempt('config', () => app.config('p'));
    await attempt('badConfig', () => app.config('bad'));
    await attempt('badNotify', () => app.notify({ recipients: ['x'] }));
    await attempt('noNotification', () => app.notify({ recipients: [] }));
    await attempt('set', async () => { await app.storage.set('a', { n: [1] }); await app.storage.set('b/1', 'x'); return app.storage.get('a'); });
    await attempt('full', () => app.storage.set('full', 1));
    await attempt('badKey', () => app.storage.get(5));
    await attempt('badValue', () => app.storage.set('f', () => 1));
    await attempt('parallel', async () => (await Promise.all(Array.from({ length: 50 }, () => app.api.nodes.list()))).length);
    return out;
  }`))
	x := m.Extensions()[0]
	var out map[string]string
	if _, err := x.Call(t.Context(), uploadInfo, []any{int64(0), (*string)(nil), nil}, &out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"early":          "n1early",
		"query":          `{"total":"2","users":[{"age":30,"friends":{"a":"9007199254740993"},"id":"1","name":"7"}]}`,
		"list":           `[{"big":"9007199254740993","half":0.5,"small":5}]`,
		"circle":         "deeper than 100 levels",
		"huge":           "has more than 1048576 parts",
		"shared":         "has more than 1048576 parts",
		"config":         `{"list":["a",1],"on":true,"prefix":"p","timeout":5000}`,
		"badConfig":      `Error  app.config("bad"): there is no such prefix`,
		"badNotify":      `TypeError  app.notify.recipients[0]: "x" is not a whole number of 64 bits`,
		"noNotification": "TypeError  app.notify: the notification is missing",
		"set":            `{"n":[1]}`,
		"full":           "Error  there is no space",
		"badKey":         "TypeError  the key must be a string, not number",
		"badValue":       "TypeError  app.storage.set: the value must be one that JSON can hold; use delete to remove a key",
		"parallel":       "50",
	} {
		if got := out[name]; got != want && (!strings.HasPrefix(got, "TypeError  app.api.nodes.list") || !strings.HasSuffix(got, want)) {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
	for _, want := range []string{`test queryUsers {"ids":[9007199254740993,2,3],"name":"77","page":1}`, "test listNodes {}"} {
		if !slices.Contains(seen, want) {
			t.Errorf("%s is missing in %q", want, seen)
		}
	}
}
