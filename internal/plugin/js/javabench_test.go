// SPDX-License-Identifier: Apache-2.0

package js

import (
	"fmt"
	"testing"
)

// BenchmarkJava measures what one use of Java costs a plugin, in one call of the plugin with many
// of them.
func BenchmarkJava(b *testing.B) {
	h, _ := withJava(b)
	m := load(b, h, told(`
globalThis.map = new (Java.type('java.util.HashMap'))({ a: 1 });
globalThis.ArrayList = Java.type('java.util.ArrayList');
globalThis.Optional = Java.type('java.util.Optional');
globalThis.hundred = new ArrayList(Array.from({ length: 100 }, (_, i) => i));`))
	for _, c := range []struct{ name, code string }{
		{"call", "map.size()"},
		{"arguments", "map.put('key', 'value')"},
		{"new", "new ArrayList()"},
		{"function", "map.computeIfPresent('a', (k, v) => v)"},
		{"copy100", "Java.from(hundred)"},
		{"type", "Java.type('java.util.HashMap')"},
	} {
		b.Run(c.name, func(b *testing.B) {
			code := fmt.Sprintf("for (let i = 0; i < 100; i++) %s; 1", c.code)
			says(b, m, code, "1")
			b.ResetTimer()
			for b.Loop() {
				says(b, m, code, "1")
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/100, "µs/use")
		})
	}
}
