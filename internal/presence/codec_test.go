// SPDX-License-Identifier: Apache-2.0

package presence

import "testing"

// FuzzDecode feeds what a newer or broken program may have written.
func FuzzDecode(f *testing.F) {
	intern := func(id, incarnation string) *gateway { return &gateway{id: id, incarnation: incarnation} }
	one := Session{ID: 1, gateway: intern("a", "b"), Details: map[string]string{"k": "v"}, Position: &Position{Longitude: 1}}
	one.LoginLocation = &Location{Details: map[string]string{"k": "v"}}
	f.Add((&content{status: 3, sessions: []Session{one, one}}).encode())
	f.Add([]byte{0x12, 0x04, 0x22, 0x02, 1, 2})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(1, data, intern)
		if err != nil {
			return
		}
		again, err := decode(1, c.encode(), intern)
		if err != nil || len(again.sessions) != len(c.sessions) || again.status != c.status {
			t.Errorf("%+v came back as %+v, %v", c, again, err)
		}
	})
}
