// SPDX-License-Identifier: Apache-2.0

package talk

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// A Letter is an encoded request that sends a message. Its text contains the time when it was sent.
type Letter struct {
	payload []byte
	stamp   []byte // the part of the payload that is replaced by the time
}

var stampMark = []byte("sent at ")

// stampSize is the number of digits of a time in nanoseconds.
const stampSize = 19

// Text is the text of messages. It has 64 characters that need no escaping in any encoding.
var Text = fmt.Sprintf("%s%0*d%37s", stampMark, stampSize, 0, "and a text of some length goes on.")

// NewLetter makes a letter of an encoded request whose text is Text.
func NewLetter(request []byte) *Letter {
	at := bytes.Index(request, stampMark)
	if at < 0 {
		panic(fmt.Sprintf("the text is not in %q", request))
	}
	at += len(stampMark)
	return &Letter{payload: request, stamp: request[at : at+stampSize : at+stampSize]}
}

// stamped returns the request with the current time.
func (l *Letter) stamped() []byte {
	strconv.AppendInt(l.stamp[:0], time.Now().UnixNano(), 10)
	return l.payload
}

// age returns the time since the message in a payload was sent. It reports false if there is none.
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
