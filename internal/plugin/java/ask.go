// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
)

// What plugins ask of the server.
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

// asked answers a question of a plugin, in a goroutine of its own.
func (s *session) asked(id uint64, body []byte) {
	if s.asks.Add(1) > int64(s.host.opts.MaxPending) {
		s.asks.Add(-1)
		s.reply(id, nil, apierr.New(apierr.ServerUnavailable, "plugins ask too much of the server at once"))
		return
	}
	s.helpers.Go(func() {
		defer s.asks.Add(-1)
		defer func() {
			if value := recover(); value != nil {
				s.reply(id, nil, fmt.Errorf("the server panicked: %v", value))
				s.log.Error("the server panicked when a plugin asked something of it", slog.Any("value", value))
			}
		}()
		out, err := s.answer(&in{b: body})
		s.reply(id, out, err)
	})
}

// reply sends an answer.
func (s *session) reply(id uint64, body []byte, err error) {
	var b []byte
	if err == nil {
		b, err = endFrame(append(beginFrame(nil, kindResult, id), body...), 0)
	}
	if err != nil {
		code, text := int64(0), err.Error()
		if e, ok := errors.AsType[*apierr.Error](err); ok {
			code, text = int64(e.Code), e.Reason
		}
		b = appendString(appendInt(beginFrame(nil, kindError, id), code), head(text, 64<<10))
		b, _ = endFrame(appendString(appendString(b, ""), ""), 0)
	}
	_ = s.conn.send(b, nil) // A JVM that is gone wants no answer.
}

// answer does what a plugin asks for.
func (s *session) answer(r *in) (out []byte, err error) {
	m, what := s.module(r.uint()), r.byte()
	call := uint64(r.int())
	ctx := s.conn.behalf(s.ctx, call)
	server := s.host.opts.Server
	if server == nil {
		return nil, errors.New("there is no server")
	}
	if what == askConfig {
		return answerConfig(server, r)
	}
	if what == askNode {
		return s.answerNode(server, m, call, r)
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
		return s.host.answerFolder(by.ID, r)
	case askSchedule:
		return s.answerSchedule(m, r)
	case askUnschedule:
		return s.answerUnschedule(m, r)
	case askWrite:
		return nil, s.answerWrite(m, call, r)
	case askGet, askSet, askDelete, askKeys:
		storage := server.Storage()
		if storage == nil {
			return nil, errors.New("there is no storage on this server")
		}
		return answerStorage(ctx, storage, by.ID, what, r)
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

// notificationCodec is the codec of what notify gets.
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
