// SPDX-License-Identifier: Apache-2.0

package typings

import "example.org/app/internal/apierr"

// maxCode is above all status codes.
const maxCode = 10_000

// Codes writes the names of the status codes.
func Codes() []byte {
	w := &writer{}
	w.WriteString(generated)
	w.doc("The names of the status codes, for AppError.")
	w.open("type StatusCodeName =")
	for c := range apierr.Code(maxCode) {
		if c.Name() != "" {
			w.doc(c.String()[len(c.Name()):] + " " + c.Text())
			w.line("| '%s'", c.Name())
		}
	}
	w.line(";")
	return w.Bytes()
}
