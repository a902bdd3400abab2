// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin/typings"
)

// codes writes the status codes.
func codes() *file {
	f := newFile(basePackage, "StatusCode")
	f.Doc("The status codes, for {@link AppException}.")
	f.Open("public final class StatusCode {")
	for _, c := range typings.AllCodes() {
		f.Doc(javadoc(c.Text()))
		f.Line("public static final int %s = %d;", c.Name(), int32(c))
		f.WriteByte('\n')
	}
	f.Line("private StatusCode() {}\n")
	f.Doc("The name of a code.", "@param code a number", "@return its name, or null if there is no such code")
	f.Open("public static %s name(int code) {", f.nullable("String"))
	f.Open("return switch (code) {")
	for _, c := range typings.AllCodes() {
		f.Line("case %d -> %q;", int32(c), c.Name())
	}
	f.Line("default -> null;")
	f.Close("};")
	f.Close("}\n")
	f.Doc("The text of a code, which callers read if an exception has none of its own.", "@param code a number", "@return its text, or null if there is no such code")
	f.Open("public static %s text(int code) {", f.nullable("String"))
	f.Open("return switch (code) {")
	for _, c := range typings.AllCodes() {
		if c.Text() != "" {
			f.Line("case %d -> %q;", int32(c), apierr.Code(c).Text())
		}
	}
	f.Line("default -> null;")
	f.Close("};")
	f.Close("}")
	f.Close("}")
	return f
}
