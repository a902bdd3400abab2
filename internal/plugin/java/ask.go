// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
)

// Operations of plugins' requests to the server.
const (
	askAPI byte = iota
	askConfig
	askNotify
	askGet
	askSet
	askDelete
	askKeys
	askMeetingEnded
	askSettings
	askFolder
	askSchedule
	askUnschedule
	askWrite
	askNode
)

// A question is a request of a plugin to the server.
type question struct {
	session *session
	// m is the requesting module; nil while it is being loaded.
	m    *module
	what byte
	// call is the number of the call in which it was made.
	call uint64
	// rest is the rest of the body.
	rest *in
}

func newQuestion(s *session, body []byte) *question {
	r := &in{b: body}
	return &question{session: s, m: s.module(r.uint()), what: r.byte(), call: uint64(r.int()), rest: r}
}

// answer executes the request and returns the body of the response.
func (q *question) answer() (out []byte, err error) {
	m, r, what := q.m, q.rest, q.what
	ctx := q.session.conn.behalf(q.session.ctx, q.call)
	server := q.session.host.opts.Server
	if server == nil {
		return nil, errors.New("there is no server")
	}
	if what == askConfig {
		return answerConfig(server, r)
	}
	if what == askNode {
		return q.node(server)
	}
	if m == nil {
		return nil, errors.New("the server cannot be used while the plugin is loaded; use it in start() or later")
	}
	switch by := m.descriptor.Descriptor; what {
	case askAPI:
		return answerAPI(ctx, server, by, r)
	case askNotify:
		return nil, answerNotify(ctx, server, by, r)
	case askMeetingEnded:
		return nil, answerMeetingEnded(ctx, server, by, r)
	case askSettings:
		return answerSettings(server, by, r)
	case askFolder:
		return q.folder()
	case askSchedule:
		return q.schedule()
	case askUnschedule:
		return q.unschedule()
	case askWrite:
		return nil, q.write()
	case askGet, askSet, askDelete, askKeys:
		storage := server.Storage()
		if storage == nil {
			return nil, errors.New("there is no storage on this server")
		}
		out, err := answerStorage(ctx, storage, by.ID, what, r)
		if what == askSet {
			m.Stored(m.log, err)
		}
		return out, err
	}
	return nil, fmt.Errorf("the plugin asks for %d, which the server does not know", what)
}

func answerConfig(server plugin.Server, r *in) ([]byte, error) {
	prefix := r.string()
	if err := r.end(); err != nil {
		return nil, err
	}
	values, err := server.Config(prefix)
	if err != nil {
		return nil, err
	}
	if values == nil {
		values = map[string]any{}
	}
	text, err := json.Marshal(values)
	return appendBytes(nil, text), err
}

func answerSettings(server plugin.Server, by plugin.Descriptor, r *in) ([]byte, error) {
	if err := r.end(); err != nil {
		return nil, err
	}
	values, err := server.Settings(by)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(values)
	return appendBytes(nil, text), err
}

func answerAPI(ctx context.Context, server plugin.Server, by plugin.Descriptor, r *in) ([]byte, error) {
	operation, input := r.string(), r.bytes()
	if err := r.end(); err != nil {
		return nil, err
	}
	if len(input) == 0 {
		input = []byte("{}")
	}
	out, err := server.Call(ctx, by, operation, input)
	if err != nil {
		return nil, err
	}
	return appendBytes(appendBool(nil, out != nil), out), nil
}

// notificationCodec is the codec of a plugin.Notification.
var notificationCodec = func() *codec {
	c, err := codecOf(reflect.TypeFor[plugin.Notification]())
	if err != nil {
		panic(err) // The type is declared in this program.
	}
	return c
}()

func answerNotify(ctx context.Context, server plugin.Server, by plugin.Descriptor, r *in) error {
	var n plugin.Notification
	notificationCodec.read(r, reflect.ValueOf(&n).Elem())
	switch err := r.end(); {
	case err != nil:
		return err
	case n.Notification == nil:
		return apierr.New(apierr.IllegalArgument, "the notification is missing")
	}
	return server.Notify(ctx, by, n)
}

func answerMeetingEnded(ctx context.Context, server plugin.Server, by plugin.Descriptor, r *in) error {
	id, at := r.int(), time.UnixMilli(r.int()).UTC()
	if err := r.end(); err != nil {
		return err
	}
	return server.MeetingEnded(ctx, by, id, at)
}

func answerStorage(ctx context.Context, storage plugin.Storage, id string, what byte, r *in) ([]byte, error) {
	key := r.string()
	var value []byte
	if what == askSet {
		value = r.bytes()
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	switch what {
	case askGet:
		value, ok, err := storage.Get(ctx, id, key)
		return appendBytes(appendBool(nil, ok), value), err
	case askSet:
		return nil, storage.Set(ctx, id, key, value)
	case askDelete:
		was, err := storage.Delete(ctx, id, key)
		return appendBool(nil, was), err
	default:
		keys, err := storage.Keys(ctx, id, key)
		return appendStrings(nil, keys), err
	}
}
