// SPDX-License-Identifier: Apache-2.0

package property

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample is a tree with every kind of property.
type sample struct {
	Flag    bool              `default:"true" mutable:"true" doc:"A flag."`
	Small   int16             `default:"1" min:"-5" doc:"A short."`
	Count   int32             `default:"2" max:"100" doc:"An int."`
	Big     int64             `default:"3" doc:"A long."`
	Single  float32           `default:"0.5" doc:"A float."`
	Ratio   float64           `default:"0.25" min:"0" max:"1" doc:"A double."`
	Text    string            `default:"text" required:"true" maxlen:"200" doc:"A string."`
	Word    string            `default:"word" minlen:"2" doc:"A long enough string."`
	Even    evenNumber        `default:"4" doc:"An even number."`
	Mode    sampleMode        `default:"ON" enum:"ON,OFF" doc:"An enum."`
	Names   []string          `default:"a,b" maxlen:"3" doc:"Names."`
	Modes   []sampleMode      `enum:"ON,OFF" doc:"Modes."`
	Ports   []int32           `min:"1" max:"9" doc:"Ports."`
	Labels  map[string]string `doc:"Labels."`
	Dir     string            `path:"true" default:"dir" doc:"A directory."`
	Dirs    []string          `path:"true" doc:"Directories."`
	Proxy   sampleProxy       `defaults:"port=8080"`
	Plugins []samplePlugin    `mutable:"true" doc:"Plugins."`
	Levels  []sampleLevel     `default:"[{duration: 10}, {duration: 20, times: 1}]" doc:"Levels."`
}

type sampleMode string

type evenNumber int32

func (n evenNumber) Validate() error {
	if n%2 != 0 {
		return errors.New("must be even")
	}
	return nil
}

type SampleBase struct {
	Host string `default:"localhost"`
	Port int32  `default:"80" min:"0"`
}

func (b SampleBase) Validate() error {
	if b.Host == "forbidden" {
		return Violation("host", "must not be forbidden")
	}
	return nil
}

type sampleProxy struct {
	SampleBase
	Password Secret
	MinSize  int32 `default:"1"`
	MaxSize  int32 `default:"9"`
}

func (p sampleProxy) Validate() error {
	if p.MinSize > p.MaxSize {
		return Violation("min-size", "must not be greater than max-size")
	}
	if p.Host == "nowhere" {
		return errors.New("must be\nsomewhere")
	}
	return nil
}

type samplePlugin struct {
	URL      string `required:"true"`
	Kind     string `default:"AUTO" enum:"AUTO,JAVA"`
	Token    Secret
	Tags     []string
	Download struct {
		TimeoutMillis int32 `default:"60000" min:"1"`
	}
}

type sampleLevel struct {
	Duration int64
	Times    int32 `default:"5"`
}

// sampleTree reflects sample.
func sampleTree(t testing.TB) *Tree {
	t.Helper()
	tr, err := New("app", reflect.TypeFor[sample]())
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return tr
}

// writeFile makes a configuration file and returns its name.
func writeFile(t testing.TB, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// loadSample loads a sample from the three sources.
func loadSample(t testing.TB, yaml string, environ, set []string) (*sample, error) {
	t.Helper()
	s := new(sample)
	opts := Inputs{Home: "/srv/app", Files: []File{{Path: writeFile(t, yaml)}}, Environ: environ, Set: set}
	if err := sampleTree(t).load(reflect.ValueOf(s).Elem(), opts, map[string]Source{}); err != nil {
		return nil, err
	}
	return s, nil
}

// wantError checks the type and the exact text of an error. The directory of a
// file is not compared.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want %q", want)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got a %T, want an *Error", err)
	}
	got := err.Error()
	if dir, file := filepath.Split(e.Source); dir != "" {
		got = strings.Replace(got, e.Source, file, 1)
	}
	if got != want {
		t.Errorf("wrong error\n got: %s\nwant: %s", got, want)
	}
}
