// SPDX-License-Identifier: Apache-2.0

package property

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

func TestWriteDocSample(t *testing.T) {
	type inner struct {
		Port  int32    `default:"1" min:"0" max:"9" mutable:"true" global:"true" doc:"A <port> | more."`
		Text  string   `doc:"A text."`
		Token Secret   `default:"hunter2" doc:"A token."`
		Modes []string `enum:"A,B" default:"A" mutable:"true" doc:"Modes."`
	}
	type outer struct {
		Inner inner `doc:"A group."`
		Large int64 `max:"5" default:"4" doc:"Large."`
	}
	tr, err := New("app", reflect.TypeFor[outer]())
	if err != nil {
		t.Fatal(err)
	}
	const markdown = `## ¬app.inner¬

A group.

| Property | Type | Default | Meaning | Change | Environment variable |
|---|---|---|---|---|---|
| ¬app.inner.port¬ | int, 0 to 9 | ¬1¬ | A &lt;port&gt; \| more. | at run time, for all nodes | ¬APP_INNER_PORT¬ |
| ¬app.inner.text¬ | string | ¬""¬ | A text. | at start, for one node | ¬APP_INNER_TEXT¬ |
| ¬app.inner.token¬ | string | ¬hunter2¬ | A token. | at start, for one node | ¬APP_INNER_TOKEN¬ |
| ¬app.inner.modes¬ | list of enum: A, B | ¬A¬ | Modes. | at run time, for one node | ¬APP_INNER_MODES¬ |

## ¬app.large¬

Large.

| Property | Type | Default | Meaning | Change | Environment variable |
|---|---|---|---|---|---|
| ¬app.large¬ | long, at most 5 | ¬4¬ | Large. | at start, for one node | ¬APP_LARGE¬ |
`
	const text = `app.inner
=========
A group.

app.inner.port
  type     int, 0 to 9
  default  1
  meaning  A <port> | more.
  change   at run time, for all nodes
  env      APP_INNER_PORT

app.inner.text
  type     string
  default  ""
  meaning  A text.
  change   at start, for one node
  env      APP_INNER_TEXT
`
	var b bytes.Buffer
	if err := tr.WriteDoc(&b, "markdown"); err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(markdown, "¬", "`"); b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := tr.WriteDoc(&b, "text"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), text) {
		t.Errorf("got\n%s\nwant at the beginning\n%s", b.String(), text)
	}
}
