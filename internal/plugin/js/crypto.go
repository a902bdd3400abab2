// SPDX-License-Identifier: Apache-2.0

package js

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"

	"example.org/app/internal/plugin/js/engine"
)

// algorithms are the hash functions by name without punctuation. Obsolete ones are included because
// other services require them.
var algorithms = map[string]func() hash.Hash{
	"MD5": md5.New, "SHA1": sha1.New, "SHA224": sha256.New224, "SHA256": sha256.New, "SHA384": sha512.New384, "SHA512": sha512.New,
}

func algorithm(name string) (func() hash.Hash, error) {
	f, ok := algorithms[strings.ReplaceAll(strings.ToUpper(name), "-", "")]
	if !ok {
		return nil, fmt.Errorf("the algorithm %q is not one of SHA-256, SHA-384, SHA-512, SHA-224, SHA-1, MD5", shorten(name))
	}
	return f, nil
}

// crypto returns the functions of the global crypto.
func (l *library) crypto() map[string]engine.Func {
	return map[string]engine.Func{
		"subtle": l.subtle,
		"randomUUID": func(engine.Value, []engine.Value) (engine.Value, error) {
			var b [16]byte
			_, _ = rand.Read(b[:])
			b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
			return l.t.value(l.t.String(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])))
		},
		"randomFill": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			tooLong := false
			ok := l.t.Fill(argument(args, 0), func(b []byte) {
				if tooLong = len(b) > 65536; !tooLong {
					_, _ = rand.Read(b)
				}
			})
			if !ok || tooLong {
				return engine.Undefined, errors.New("getRandomValues: the parameter must be a typed array of at most 65536 bytes")
			}
			return engine.Undefined, nil
		},
		"hash": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			f, err := algorithm(l.t.text(args[0]))
			if err != nil {
				return engine.Undefined, err
			}
			h := f()
			_, _ = h.Write(l.t.content(args[1]))
			return l.digest(h.Sum(nil), args[2])
		},
		"hmac": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			f, err := algorithm(l.t.text(args[0]))
			if err != nil {
				return engine.Undefined, err
			}
			h := hmac.New(f, l.t.content(args[1]))
			_, _ = h.Write(l.t.content(args[2]))
			return l.digest(h.Sum(nil), args[3])
		},
		"equal": func(_ engine.Value, args []engine.Value) (engine.Value, error) {
			return engine.Bool(subtle.ConstantTimeCompare(l.t.content(args[0]), l.t.content(args[1])) == 1), nil
		},
	}
}

// digest returns bytes, or text if an encoding is given.
func (l *library) digest(b []byte, encoding engine.Value) (engine.Value, error) {
	switch l.t.text(encoding) {
	case "hex":
		return l.t.value(l.t.String(hex.EncodeToString(b)))
	case "base64":
		return l.t.value(l.t.String(base64.StdEncoding.EncodeToString(b)))
	}
	return l.t.value(l.t.Bytes(b))
}
