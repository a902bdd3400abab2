// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// keys stores the idempotency keys of requests.
type keys struct {
	settings func() config.Service
	clock    func() time.Time
}

const (
	// keyAttribute is the first of the two texts of the custom attribute that identifies a request.
	keyAttribute = "idempotency-key"
	// maxKeyLength bounds the second one, in bytes.
	maxKeyLength = 128
	// keySize is how many bytes of a key are stored.
	keySize = 16
	// relayLifetime is how long the key of a gateway is kept: longer than a gateway repeats a
	// request.
	relayLifetime = 5 * time.Minute
)

// ofMessage returns the key of a request to send a message: that of the client, else that of the
// gateway; nil means none.
func (k keys) ofMessage(r *Request) (*message.Key, error) {
	text, ok, err := clientKey(r.AppRequest)
	switch {
	case err != nil:
		return nil, err
	case ok:
		// Devices of a user may use the same keys.
		sum := sha256.Sum256([]byte(r.Device.String() + " " + text))
		return &message.Key{Value: sum[:keySize], Lifetime: k.lifetime(), Repeated: r.repeated}, nil
	case r.key != nil:
		return &message.Key{Value: r.key, Lifetime: relayLifetime, Repeated: r.repeated}, nil
	}
	return nil, nil
}

// lifetime returns how long the keys of clients are kept.
func (k keys) lifetime() time.Duration {
	return max(time.Duration(k.settings().Message.IdempotencyKeyLifetimeMinutes)*time.Minute, relayLifetime)
}

// once makes a request with an idempotency key create one object with an id, however often it
// arrives. handle must create it in one transaction, which stores r.once.
func (k keys) once(handle handler) handler {
	return k.onceAs(func(ids []int64) Answer { return long(ids[0]) }, handle)
}

// onceAs is once for requests whose answer is not a single id.
func (k keys) onceAs(known func(ids []int64) Answer, handle handler) handler {
	return func(ctx context.Context, r *Request) (Answer, error) {
		text, ok, err := clientKey(r.AppRequest)
		if err != nil {
			return Answer{}, err
		}
		if !ok {
			return handle(ctx, r)
		}
		// Requests of different kinds may use the same keys.
		sum := sha256.Sum256([]byte(wire.KindOf(r.AppRequest).String() + " " + r.Device.String() + " " + text))
		r.once = &store.MessageKey{SenderID: r.UserID, Key: sum[:keySize], ExpiryDate: k.clock().Add(k.lifetime())}
		answer, err := handle(ctx, r)
		if errors.Is(err, store.ErrDuplicateKey) {
			// A transaction of the same request was committed concurrently.
			answer, err = handle(ctx, r)
		}
		if request, ok := errors.AsType[*store.KnownRequest](err); ok {
			return known(request.IDs), nil
		}
		return answer, err
	}
}

// clientKey returns the key that a client gave to a request; ok is false if there is none.
func clientKey(r *wire.AppRequest) (key string, ok bool, err error) {
	for _, attribute := range r.GetCustomAttributes() {
		list := attribute.GetListValue()
		if len(list) == 0 || list[0].GetStringValue() != keyAttribute {
			continue
		}
		if len(list) == 2 {
			key = list[1].GetStringValue()
		}
		if key == "" || len(key) > maxKeyLength {
			return "", false, apierr.New(apierr.IllegalArgument, "customAttributes: %q must be followed by a text of 1 to %d bytes", keyAttribute, maxKeyLength)
		}
		return key, true, nil
	}
	return "", false, nil
}
