// SPDX-License-Identifier: Apache-2.0

package java

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
)

// entry is an entry of a test archive.
type entry struct{ name, text string }

// pack creates an archive.
func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err == nil {
			_, err = io.WriteString(w, e.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const goodDescriptor = "id: a\nclass: b.C\n"

func TestArchive(t *testing.T) {
	good := pack(t, entry{"plugin.yaml", goodDescriptor}, entry{"b/C.class", strings.Repeat("x", 1000)})
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"good", good, ""},
		{"with folders", pack(t, entry{"b/", ""}, entry{"plugin.yml", goodDescriptor}), ""},
		{"descriptor with a middle", pack(t, entry{"plugin.prod.yaml", goodDescriptor}), ""},
		{"empty file", nil, "not a jar"},
		{"text", []byte("this is no archive"), "not a jar"},
		{"zeros", make([]byte, 100_000), "not a jar"},
		{"truncated", good[:len(good)-30], "not a jar"},
		{"only the end", good[len(good)-40:], "not a jar"},
		{"damaged", damaged(t, good), "damaged"},
		{"no descriptor", pack(t, entry{"b/C.class", "x"}), "no plugin.yaml at its root"},
		{"descriptor in a folder", pack(t, entry{"META-INF/plugin.yaml", goodDescriptor}), "no plugin.yaml at its root"},
		{"two descriptors", pack(t, entry{"plugin.yaml", goodDescriptor}, entry{"plugin.yml", goodDescriptor}), "several descriptors, plugin.yaml and plugin.yml"},
		{"huge descriptor", pack(t, entry{"plugin.yaml", goodDescriptor + "#" + strings.Repeat("x", maxDescriptor)}), "at most 65536 are allowed"},
		{"twice", pack(t, entry{"plugin.yaml", goodDescriptor}, entry{"plugin.yaml", goodDescriptor}), `has the entry "plugin.yaml" twice`},
		{"licence twice", pack(t, entry{"META-INF/", ""}, entry{"META-INF/LICENSE", "a"}, entry{"META-INF/LICENSE", "b"}, entry{"META-INF/", ""}, entry{"plugin.yaml", goodDescriptor}), ""},
		{"class twice", pack(t, entry{"plugin.yaml", goodDescriptor}, entry{"b/C.class", "x"}, entry{"b/C.class", "y"}), `has the entry "b/C.class" twice`},
		{"class for a newer Java twice", pack(t, entry{"plugin.yaml", goodDescriptor}, entry{"META-INF/versions/22/b/C.class", "x"}, entry{"META-INF/versions/22/b/C.class", "y"}), "twice"},
		{"upwards", pack(t, entry{"../evil", "x"}), "must not lead elsewhere"},
		{"upwards in the middle", pack(t, entry{"a/../../evil", "x"}), "must not lead elsewhere"},
		{"absolute", pack(t, entry{"/etc/passwd", "x"}), "must not be absolute"},
		{"drive", pack(t, entry{"C:evil", "x"}), "must not be absolute"},
		{"backslash", pack(t, entry{`..\evil`, "x"}), "cannot be the name of a file"},
		{"double slash", pack(t, entry{"a//b", "x"}), "must not lead elsewhere"},
		{"bomb", pack(t, entry{"plugin.yaml", goodDescriptor}, entry{"bomb", strings.Repeat("\x00", freeSize+1)}), "that is not a plugin"},
		{"says too little", lying(t, 10), "damaged"},
		{"says too much", lying(t, 1_000_000), "damaged"},
		{"says very much", lying(t, 0xfffffffe), "that is not a plugin"},
		{"many entries", many(t, maxEntries+1), "entries, at most 100000 are allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := openArchive(c.data)
			if err == nil {
				_, _, err = a.descriptor()
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// damaged corrupts a byte of an entry's content.
func damaged(t *testing.T, good []byte) []byte {
	t.Helper()
	data := bytes.Clone(good)
	i := bytes.Index(data, []byte("b/C.class"))
	data[i+len("b/C.class")+4] ^= 0xff
	return data
}

// lying creates an archive whose directory declares the given size for an entry.
func lying(t *testing.T, size uint32) []byte {
	t.Helper()
	data := pack(t, entry{"plugin.yaml", strings.Repeat("x", 1000)})
	i := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[i+24:], size)
	return data
}

func many(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		if _, err := z.CreateRaw(&zip.FileHeader{Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzArchive(f *testing.F) {
	f.Add(pack(f, entry{"plugin.yaml", goodDescriptor}, entry{"b/C.class", "x"}))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if a, err := openArchive(data); err == nil {
			if name, text, err := a.descriptor(); err == nil {
				_, _ = parseDescriptor(name, text)
			}
		}
	})
}
