// SPDX-License-Identifier: Apache-2.0

package typings

import "example.org/app/internal/apierr"

// maxCode is greater than all status codes.
const maxCode = 10_000

// AllCodes returns the status codes in order.
func AllCodes() []apierr.Code {
	var all []apierr.Code
	for c := range apierr.Code(maxCode) {
		if c.Name() != "" {
			all = append(all, c)
		}
	}
	return all
}

// Codes writes the names of the status codes.
func Codes() []byte {
	w := &Writer{}
	w.WriteString(generated)
	w.Doc("The names of the status codes, for AppError.")
	w.Open("type StatusCodeName =")
	for _, c := range AllCodes() {
		w.Doc(c.String()[len(c.Name()):] + " " + c.Text())
		w.Line("| '%s'", c.Name())
	}
	w.Line(";")
	return w.Bytes()
}
