// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
)

// nakama is https://github.com/heroiclabs/nakama. Its clients request a token over HTTP and open a
// WebSocket with it.
type nakama struct {
	program, dir  string
	db            *database
	port, console int
	ids           []string
}

func newNakama(program string, db *database, dir string) *nakama {
	// It also uses the port before the one for clients, and those before the one of its console.
	return &nakama{program: program, db: db, dir: filepath.Join(dir, "nakama"), port: freeFrom(1), console: freeFrom(3)}
}

func (n *nakama) name() string { return "Nakama" }

// arguments returns the common arguments of its commands.
func (n *nakama) arguments() []string {
	address := strings.TrimSuffix(strings.TrimPrefix(n.db.url("nakama"), "postgres://"), "?sslmode=disable")
	return []string{"--database.address", address, "--logger.level", "ERROR"}
}

func (n *nakama) prepare(ctx context.Context) error {
	if err := n.db.create(ctx, "nakama"); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, n.program, append([]string{"migrate", "up"}, n.arguments()...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("make the schema: %w: %s", err, out)
	}
	return nil
}

func (n *nakama) command() []string {
	return append([]string{
		n.program, "--data_dir", n.dir, "--socket.address", "127.0.0.1", "--socket.port", strconv.Itoa(n.port),
		"--console.address", "127.0.0.1", "--console.port", strconv.Itoa(n.console),
		"--session.token_expiry_sec", "86400", "--console.token_expiry_sec", "86400",
	}, n.arguments()...)
}

func (n *nakama) answers(context.Context) error {
	s, err := n.login(0)
	if err != nil {
		return err
	}
	return s.Close()
}

// api sends a request to the API of clients.
func (n *nakama) api(ctx context.Context, path string, authorise func(*http.Request), body, result any) error {
	return call(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d%s", n.port, path), authorise, body, result)
}

// token logs a user in, who is created if necessary.
func (n *nakama) token(ctx context.Context, user int) (string, error) {
	var session struct{ Token string }
	err := n.api(ctx, "/v2/account/authenticate/device?create=true", basic("defaultkey", ""),
		map[string]string{"id": fmt.Sprintf("device-%08d", user)}, &session)
	return session.Token, err
}

func (n *nakama) fill(ctx context.Context, users int) error {
	n.ids = make([]string, users)
	return each(ctx, users, 32, func(i int) error {
		token, err := n.token(ctx, i)
		if err != nil {
			return err
		}
		n.ids[i], err = userOf(token)
		return err
	})
}

// userOf returns the user id in a token.
func userOf(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("the token is no JSON web token")
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	var user struct {
		ID string `json:"uid"`
	}
	return user.ID, json.Unmarshal(claims, &user)
}

func (n *nakama) login(user int) (*websocket.Socket, error) {
	token, err := n.token(context.Background(), user)
	if err != nil {
		return nil, err
	}
	return websocket.Dial(fmt.Sprintf("127.0.0.1:%d", n.port), "/ws?status=false&token="+url.QueryEscape(token), websocket.Text)
}

var (
	nakamaAcknowledges = []byte(`"channel_message_ack"`)
	nakamaRefuses      = []byte(`"error":`)
)

func (n *nakama) judge(payload []byte) (bool, error) {
	if bytes.Contains(payload, nakamaRefuses) {
		return false, fmt.Errorf("the server answered %s", payload)
	}
	return bytes.Contains(payload, nakamaAcknowledges), nil
}

// Kinds of channels.
const (
	nakamaDirect = 2
	nakamaGroup  = 3
)

// join adds a user to a channel and returns its id.
func (n *nakama) join(s *websocket.Socket, target string, kind int) (string, error) {
	err := s.Write(fmt.Appendf(nil, `{"cid":"join","channel_join":{"target":%q,"type":%d,"persistence":true,"hidden":true}}`, target, kind))
	if err != nil {
		return "", err
	}
	for {
		payload, err := s.Read()
		if err != nil {
			return "", err
		}
		var answer struct {
			Cid     string
			Channel *struct{ ID string }
			Error   json.RawMessage
		}
		if err := json.Unmarshal(payload, &answer); err != nil {
			return "", err
		}
		switch {
		case answer.Cid != "join":
		case answer.Channel == nil:
			return "", fmt.Errorf("join a channel: %s", payload)
		default:
			return answer.Channel.ID, nil
		}
	}
}

func nakamaLetter(channel string) *talk.Letter {
	return talk.NewLetter(fmt.Appendf(nil, `{"cid":"m","channel_message_send":{"channel_id":%q,"content":"{\"t\":\"%s\"}"}}`, channel, talk.Text))
}

func (n *nakama) toUser(sender, recipient int, from, to *websocket.Socket) (*talk.Letter, error) {
	if _, err := n.join(to, n.ids[sender], nakamaDirect); err != nil {
		return nil, err
	}
	channel, err := n.join(from, n.ids[recipient], nakamaDirect)
	return nakamaLetter(channel), err
}

func (n *nakama) toGroup(ctx context.Context, sockets []*websocket.Socket) (*talk.Letter, error) {
	owner, err := n.token(ctx, 0)
	if err != nil {
		return nil, err
	}
	var group struct{ ID string }
	err = n.api(ctx, "/v2/group", bearer("Bearer "+owner), map[string]any{"name": "Everybody", "open": true, "max_count": len(sockets) + 1}, &group)
	if err != nil {
		return nil, err
	}
	var channel string
	for i, s := range sockets {
		if i > 0 {
			token, err := n.token(ctx, i)
			if err != nil {
				return nil, err
			}
			if err := n.api(ctx, "/v2/group/"+group.ID+"/join", bearer("Bearer "+token), nil, nil); err != nil {
				return nil, err
			}
		}
		if channel, err = n.join(s, group.ID, nakamaGroup); err != nil {
			return nil, err
		}
	}
	return nakamaLetter(channel), nil
}

func (n *nakama) admin(ctx context.Context) (addr string, byID, page []byte, err error) {
	addr = fmt.Sprintf("127.0.0.1:%d", n.console)
	var session struct{ Token string }
	err = call(ctx, http.MethodPost, "http://"+addr+"/v2/console/authenticate", func(*http.Request) {},
		map[string]string{"username": "admin", "password": "password"}, &session)
	if err != nil {
		return "", nil, nil, err
	}
	authorization := "Bearer " + session.Token
	return addr, get("/v2/console/account/"+n.ids[1], authorization), get("/v2/console/account", authorization), nil
}

// stored excludes messages of the server itself to a group, which have codes.
func (n *nakama) stored(ctx context.Context) (int64, error) {
	return n.db.count(ctx, "nakama", "SELECT count(*) FROM message WHERE code = 0")
}
