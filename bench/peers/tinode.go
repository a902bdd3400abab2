// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
)

// Keys from the examples in Tinode's documentation: they protect no secrets here.
const (
	tinodeSalt     = "T713/rYYgW7g4m3vG6zGRh7+FM1t0T8j13koXScOAj4="
	tinodeAPIKey   = "AQEAAAABAAD_rAp4DJh05a1HAwFT3A6K"
	tinodeUserKey  = "la6YsO+bNX/+XIkOqc5Svw=="
	tinodeTokenKey = "wfaY2RgF2S1OQI/ZlK+LSrp1KB2jwAdGAIHQ7JZn+Kc="
)

// tinode is https://github.com/tinode/chat. Its users log in with the token of their new account
// instead of a password, because its password hashing is slow.
type tinode struct {
	program, tool, dir string
	db                 *database
	addr               string
	grpc               string
	users              []tinodeUser
}

type tinodeUser struct{ ID, Token string }

func newTinode(program, tool string, db *database, dir string) *tinode {
	return &tinode{
		program: program, tool: tool, db: db, dir: filepath.Join(dir, "tinode"),
		addr: fmt.Sprintf("127.0.0.1:%d", freeFrom(0)), grpc: fmt.Sprintf("127.0.0.1:%d", freeFrom(0)),
	}
}

func (t *tinode) name() string { return "Tinode" }

func (t *tinode) config() string { return filepath.Join(t.dir, "tinode.conf") }

func (t *tinode) prepare(ctx context.Context) error {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	type object map[string]any
	err := write(t.config(), object{
		"listen": t.addr, "api_path": "/", "grpc_listen": t.grpc, "api_key_salt": tinodeSalt, "max_message_size": 131072, "max_subscriber_count": 10_000,
		"ws_compression_disabled": true, "expvar": "-",
		"auth_config": object{"token": object{"expire_in": 86400, "serial_num": 1, "key": tinodeTokenKey}},
		"store_config": object{
			"uid_key": tinodeUserKey, "max_results": 1024, "use_adapter": "postgres",
			"adapters": object{"postgres": object{
				"dsn": t.db.url("tinode"), "max_open_conns": 50, "max_idle_conns": 50, "conn_max_lifetime": 60, "sql_timeout": 10,
			}},
		},
		"tls":     object{"enabled": false},
		"plugins": []any{},
		"push":    []any{},
	})
	if err != nil {
		return err
	}
	// The tool creates the database.
	if out, err := exec.CommandContext(ctx, t.tool, "-config", t.config(), "-reset").CombinedOutput(); err != nil {
		return fmt.Errorf("make the schema: %w: %s", err, out)
	}
	return nil
}

func (t *tinode) command() []string {
	return []string{t.program, "-config", t.config(), "-static_data", "-"}
}

func (t *tinode) answers(context.Context) error {
	s, err := t.connect()
	if err == nil && len(t.users) > 0 {
		s.Close()
		s, err = t.login(0)
	}
	if err != nil {
		return err
	}
	return s.Close()
}

// tinodeAnswer is the parsed part of a message of the server.
type tinodeAnswer struct {
	Ctrl *struct {
		ID     string
		Code   int
		Text   string
		Topic  string
		Params struct{ User, Token string }
	}
}

// ask sends a request and returns the response.
func (t *tinode) ask(s *websocket.Socket, kind string, request map[string]any) (tinodeAnswer, error) {
	request["id"] = "ask"
	payload, err := json.Marshal(map[string]any{kind: request})
	if err != nil {
		return tinodeAnswer{}, err
	}
	if err := s.Write(payload); err != nil {
		return tinodeAnswer{}, err
	}
	for {
		payload, err := s.Read()
		if err != nil {
			return tinodeAnswer{}, err
		}
		if !bytes.HasPrefix(payload, tinodeControl) {
			continue
		}
		var answer tinodeAnswer
		// params of some responses have other types, which are not used here.
		if err := json.Unmarshal(payload, &answer); err != nil && answer.Ctrl == nil {
			return tinodeAnswer{}, err
		}
		switch {
		case answer.Ctrl.ID != "ask":
		case answer.Ctrl.Code >= 400:
			return tinodeAnswer{}, fmt.Errorf("%s: the server answered %d %s", kind, answer.Ctrl.Code, answer.Ctrl.Text)
		default:
			return answer, nil
		}
	}
}

func (t *tinode) connect() (*websocket.Socket, error) {
	s, err := websocket.Dial(t.addr, "/v0/channels?apikey="+tinodeAPIKey, websocket.Text)
	if err != nil {
		return nil, err
	}
	if _, err := t.ask(s, "hi", map[string]any{"ver": "0.25", "ua": "bench"}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// tinodeAccess lets everyone join.
var tinodeAccess = map[string]any{"defacs": map[string]string{"auth": "JRWPAS", "anon": "JRWPAS"}}

func (t *tinode) fill(ctx context.Context, users int) error {
	t.users = make([]tinodeUser, users)
	return each(ctx, users, 32, func(i int) error {
		s, err := t.connect()
		if err != nil {
			return err
		}
		defer s.Close()
		answer, err := t.ask(s, "acc", map[string]any{"user": "new", "scheme": "anonymous", "login": true, "desc": tinodeAccess})
		if err == nil {
			t.users[i] = tinodeUser{answer.Ctrl.Params.User, answer.Ctrl.Params.Token}
		}
		return err
	})
}

func (t *tinode) login(user int) (*websocket.Socket, error) {
	s, err := t.connect()
	if err != nil {
		return nil, err
	}
	if _, err := t.ask(s, "login", map[string]any{"scheme": "token", "secret": t.users[user].Token}); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

var (
	tinodeControl = []byte(`{"ctrl":`)
	tinodeCode    = []byte(`"code":`)
)

func (t *tinode) judge(payload []byte) (bool, error) {
	if !bytes.HasPrefix(payload, tinodeControl) {
		return false, nil
	}
	_, rest, _ := bytes.Cut(payload, tinodeCode)
	if !bytes.HasPrefix(rest, []byte("202")) {
		return false, fmt.Errorf("the server answered %s", payload)
	}
	return true, nil
}

func tinodeLetter(topic string) *talk.Letter {
	return talk.NewLetter(fmt.Appendf(nil, `{"pub":{"id":"m","topic":%q,"noecho":true,"content":%q}}`, topic, talk.Text))
}

func (t *tinode) subscribe(s *websocket.Socket, topic string) (string, error) {
	answer, err := t.ask(s, "sub", map[string]any{"topic": topic, "set": map[string]any{"desc": tinodeAccess}})
	if err != nil {
		return "", err
	}
	return answer.Ctrl.Topic, nil
}

func (t *tinode) toUser(sender, recipient int, from, to *websocket.Socket) (*talk.Letter, error) {
	topic := t.users[recipient].ID
	if _, err := t.subscribe(from, topic); err != nil {
		return nil, err
	}
	_, err := t.subscribe(to, t.users[sender].ID)
	return tinodeLetter(topic), err
}

func (t *tinode) toGroup(_ context.Context, sockets []*websocket.Socket) (*talk.Letter, error) {
	topic := "new1"
	for _, s := range sockets {
		var err error
		if topic, err = t.subscribe(s, topic); err != nil {
			return nil, err
		}
	}
	return tinodeLetter(topic), nil
}

// admin returns an error, because Tinode has no admin API.
func (t *tinode) admin(context.Context) (addr string, byID, page []byte, err error) {
	return "", nil, nil, nil
}

func (t *tinode) stored(ctx context.Context) (int64, error) {
	return t.db.count(ctx, "tinode", "SELECT count(*) FROM messages")
}
