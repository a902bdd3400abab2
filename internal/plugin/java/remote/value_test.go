// SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"slices"
	"testing"

	"example.org/app/internal/plugin/java/remote"
)

func TestValues(t *testing.T) {
	b := remote.AppendBool(nil, true)
	b = remote.AppendInt(b, -5)
	b = remote.AppendLong(b, 1<<62)
	b = remote.AppendDouble(b, 2.5)
	b = remote.AppendString(b, "hé")
	b = remote.AppendBytes(b, []byte{1, 2})
	b = remote.AppendFunction(b, 7)
	r := remote.NewReader(b)
	if r.Tag() != remote.True || r.Tag() != remote.Int || r.Int() != -5 || r.Tag() != remote.Long || r.Int() != 1<<62 ||
		r.Tag() != remote.Double || r.Double() != 2.5 || r.Tag() != remote.String || r.Text() != "hé" ||
		r.Tag() != remote.Bytes || !slices.Equal(r.View(), []byte{1, 2}) || r.Tag() != remote.Function || r.Number() != 7 || r.Err() != nil {
		t.Errorf("it is read in another way: %v", r.Err())
	}
	if r.Byte(); r.Err() == nil {
		t.Error("there is more than was written")
	}
}

func TestHandlesInValues(t *testing.T) {
	handle := func(b []byte, n uint64) []byte { return append(remote.AppendNumber(remote.AppendHandle(b, n), 3), 0) }
	b := remote.AppendNumber([]byte{byte(remote.List)}, 3)
	b = handle(b, 1)
	b = remote.AppendNumber(append(b, byte(remote.Dictionary)), 1)
	b = handle(remote.AppendString(b, "key"), 2)
	b = remote.AppendFunction(b, 9)
	if got := remote.NewReader(b).Handles(); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("the handles are %v", got)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(remote.AppendString(nil, "text"))
	f.Add(remote.AppendNumber([]byte{byte(remote.List)}, 1<<40))
	f.Add(append(remote.AppendNumber(remote.AppendHandle(nil, 1), 2), 3))
	f.Fuzz(func(_ *testing.T, b []byte) {
		remote.NewReader(b).Handles()
		remote.NewReader(b).Texts()
	})
}
