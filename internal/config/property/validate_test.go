// SPDX-License-Identifier: Apache-2.0

package property

import "testing"

func TestValidate(t *testing.T) {
	tr := sampleTree(t)
	var s sample
	tr.SetDefaults(&s)
	s.Labels = map[string]string{"b": "", "a": ""}
	s.Ports = []int32{1, 10}
	wantError(t, tr.Validate(&s), `app.ports[1] = "10": must be between 1 and 9`)
}
