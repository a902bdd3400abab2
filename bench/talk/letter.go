// SPDX-License-Identifier: Apache-2.0

package talk

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// A Letter is a request that sends a message, encoded once. Its text says when it was sent.
type Letter struct {
	payload []byte
	stamp   []byte // the part of the payload that is replaced
}

var stampMark = []byte("sent at ")

// stampSize is the length of the nanoseconds of our time.
const stampSize = 19

// Text is what messages say. It has 64 characters, none of which an encoding has to escape.
var Text = fmt.Sprintf("%s%0*d%37s", stampMark, stampSize, 0, "and a text of some length goes on.")

// NewLetter makes a letter of a request whose text is Text.
func NewLetter(request []byte) *Letter {
	at := bytes.Index(request, stampMark)
	if at < 0 {
		panic(fmt.Sprintf("the text is not in %q", request))
	}
	at += len(stampMark)
	return &Letter{payload: request, stamp: request[at : at+stampSize : at+stampSize]}
}

// stamped is the request with the time of now.
func (l *Letter) stamped() []byte {
	strconv.AppendInt(l.stamp[:0], time.Now().UnixNano(), 10)
	return l.payload
}

// age is how long ago the message in a payload was sent. It reports false if there is none.
func age(payload []byte) (time.Duration, bool) {
	at := bytes.Index(payload, stampMark)
	if at < 0 || len(payload) < at+len(stampMark)+stampSize {
		return 0, false
	}
	var nanos int64
	for _, c := range payload[at+len(stampMark):][:stampSize] {
		nanos = nanos*10 + int64(c-'0')
	}
	return time.Duration(time.Now().UnixNano() - nanos), true
}
