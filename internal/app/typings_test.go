// SPDX-License-Identifier: Apache-2.0

package app

import "testing"

func TestGoldenTypings(t *testing.T) {
	files, err := Typings()
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range files {
		golden(t, path, data)
	}
}
