// SPDX-License-Identifier: Apache-2.0

package property

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestPrecedence(t *testing.T) {
	const yaml = "app: {count: 10, big: 10, small: 10}"
	env := []string{"APP_COUNT=20", "APP_BIG=20", "OTHER=1", "APPLE=1", "no-equals"}
	s, err := loadSample(t, yaml, env, []string{"app.count=30"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Count != 30 || s.Big != 20 || s.Small != 10 || s.Word != "word" {
		t.Errorf("got count %d, big %d, small %d, word %q", s.Count, s.Big, s.Small, s.Word)
	}
}

func TestSpellings(t *testing.T) {
	tests := map[string]struct {
		yaml     string
		env, set []string
	}{
		"nested":        {yaml: "app:\n  proxy:\n    min-size: 7\n"},
		"nested camel":  {yaml: "app: {proxy: {minSize: 7}}"},
		"dotted":        {yaml: "app.proxy.min-size: 7"},
		"dotted camel":  {yaml: "app.proxy.minSize: 7"},
		"mixed":         {yaml: "app.proxy: {min-Size: 7}"},
		"mixed inside":  {yaml: "app: {proxy.minSize: 7}"},
		"group twice":   {yaml: "app: {proxy: {max-size: 8}}\napp.proxy: {minSize: 7}"},
		"empty groups":  {yaml: "app:\n  proxy:\n  #  x: 1\napp.proxy.min-size: 7"},
		"as text":       {yaml: `app.proxy.min-size: "7"`},
		"alias":         {yaml: "app: {count: &seven 7, proxy: {min-size: *seven}}"},
		"alias group":   {yaml: "app: {proxy: &p {min-size: 7}}"},
		"document mark": {yaml: "---\napp: {proxy: {minSize: 7}}\n"},
		"environment":   {env: []string{"APP_PROXY_MIN_SIZE=7"}},
		"set":           {set: []string{"app.proxy.min-size=7"}},
		"set camel":     {set: []string{"app.proxy.minSize=7"}},
		"set capitals":  {set: []string{"App.Proxy.MIN-SIZE= 7 "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := loadSample(t, tt.yaml, tt.env, tt.set)
			if err != nil {
				t.Fatal(err)
			}
			if s.Proxy.MinSize != 7 {
				t.Errorf("got %d", s.Proxy.MinSize)
			}
		})
	}
}

func TestScalars(t *testing.T) {
	s, err := loadSample(t, "", nil, []string{
		"app.flag=FALSE", "app.small=-5", "app.count=100", "app.big=9223372036854775807", "app.single=1.5", "app.ratio=1",
		"app.text= a=b ", "app.mode=off", "app.even=-2", "app.proxy.password=a,b",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := *s
	want.Flag, want.Small, want.Count, want.Big, want.Single, want.Ratio = false, -5, 100, 9223372036854775807, 1.5, 1
	want.Text, want.Mode, want.Even, want.Proxy.Password = " a=b ", "OFF", -2, "a,b"
	if !reflect.DeepEqual(*s, want) {
		t.Errorf("got %+v, want %+v", *s, want)
	}

	// A string takes whatever YAML thinks that it is.
	for _, text := range []string{"12", "1.0", "true", "2024-01-31", "0x1f", `"quoted"`, "<<"} {
		s, err := loadSample(t, "app: {word: "+text+"}", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Word != text && `"`+s.Word+`"` != text {
			t.Errorf("got %q for %s", s.Word, text)
		}
	}
}

func TestLists(t *testing.T) {
	plugin := func(url, kind string) samplePlugin {
		p := samplePlugin{URL: url, Kind: kind}
		p.Download.TimeoutMillis = 60000
		return p
	}
	base := "app: {plugins: [{url: x}, {url: y, kind: JAVA}], names: [x, y, z]}"
	tests := map[string]struct {
		yaml     string
		env, set []string
		plugins  []samplePlugin
		names    []string
	}{
		"defaults":             {names: []string{"a", "b"}},
		"sequence":             {yaml: base, plugins: []samplePlugin{plugin("x", "AUTO"), plugin("y", "JAVA")}, names: []string{"x", "y", "z"}},
		"empty sequence":       {yaml: "app: {names: []}"},
		"dotted":               {yaml: "app.plugins[1].url: y\napp.plugins[0]: {url: x}\napp.names[0]: n", plugins: []samplePlugin{plugin("x", "AUTO"), plugin("y", "AUTO")}, names: []string{"n"}},
		"positions as keys":    {yaml: `app: {names: {"[0]": n}, plugins: {"[0].url": x}}`, plugins: []samplePlugin{plugin("x", "AUTO")}, names: []string{"n"}},
		"environment":          {env: []string{"APP_PLUGINS_0_URL=x", "APP_PLUGINS_1_KIND=JAVA", "APP_PLUGINS_1_URL=y", "APP_NAMES_0=n"}, plugins: []samplePlugin{plugin("x", "AUTO"), plugin("y", "JAVA")}, names: []string{"n"}},
		"commas":               {env: []string{"APP_NAMES=x, y"}, names: []string{"x", "y"}},
		"commas in set":        {set: []string{"app.names=x,y"}, names: []string{"x", "y"}},
		"emptied":              {yaml: base, env: []string{"APP_NAMES="}, set: []string{"app.plugins="}},
		"set":                  {set: []string{"app.plugins[0].url=x", "app.plugins[0].download.timeoutMillis=60000", "app.names[1]=y", "app.names[0]=x"}, plugins: []samplePlugin{plugin("x", "AUTO")}, names: []string{"x", "y"}},
		"higher source":        {yaml: base, env: []string{"APP_PLUGINS_0_URL=z", "APP_NAMES_0=n"}, plugins: []samplePlugin{plugin("z", "AUTO")}, names: []string{"n"}},
		"other source":         {yaml: base, set: []string{"app.count=5"}, plugins: []samplePlugin{plugin("x", "AUTO"), plugin("y", "JAVA")}, names: []string{"x", "y", "z"}},
		"more than nine items": {env: numbered("APP_PLUGINS_%_URL", 12), plugins: twelve(plugin), names: []string{"a", "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := loadSample(t, tt.yaml, tt.env, tt.set)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(s.Plugins, tt.plugins) {
				t.Errorf("plugins: got %+v, want %+v", s.Plugins, tt.plugins)
			}
			if !reflect.DeepEqual(s.Names, tt.names) {
				t.Errorf("names: got %q, want %q", s.Names, tt.names)
			}
		})
	}
}

func numbered(pattern string, n int) []string {
	var items []string
	for i := range n {
		items = append(items, strings.Replace(pattern, "%", strconv.Itoa(i), 1)+"="+string(rune('a'+i)))
	}
	return items
}

func twelve(plugin func(url, kind string) samplePlugin) []samplePlugin {
	var list []samplePlugin
	for i := range 12 {
		list = append(list, plugin(string(rune('a'+i)), "AUTO"))
	}
	return list
}

func TestListsOfOtherTypes(t *testing.T) {
	s, err := loadSample(t, "app: {modes: [on, OFF], levels: [{times: 3}]}", []string{"APP_PORTS=1,9"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.Modes, []sampleMode{"ON", "OFF"}) || !reflect.DeepEqual(s.Ports, []int32{1, 9}) {
		t.Errorf("got %v and %v", s.Modes, s.Ports)
	}
	if !reflect.DeepEqual(s.Levels, []sampleLevel{{Duration: 0, Times: 3}}) {
		t.Errorf("got %+v", s.Levels)
	}
}

func TestMaps(t *testing.T) {
	base := "app: {labels: {a: 1, b.C: two}}"
	tests := map[string]struct {
		yaml     string
		env, set []string
		want     map[string]string
	}{
		"none":            {},
		"mapping":         {yaml: base, want: map[string]string{"a": "1", "b.C": "two"}},
		"dotted":          {yaml: "app.labels.x-Y: 1\napp.labels.z: 2", want: map[string]string{"x-Y": "1", "z": "2"}},
		"environment":     {yaml: base, env: []string{"APP_LABELS_ONE_TWO=1"}, want: map[string]string{"one_two": "1"}},
		"set":             {yaml: base, set: []string{"app.labels.x=1", "app.labels.Y=2"}, want: map[string]string{"x": "1", "Y": "2"}},
		"comma separated": {env: []string{"APP_LABELS=a=b=c, d=e"}, want: map[string]string{"a": "b=c", "d": "e"}},
		"emptied":         {yaml: base, env: []string{"APP_LABELS="}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, err := loadSample(t, tt.yaml, tt.env, tt.set)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(s.Labels, tt.want) {
				t.Errorf("got %q, want %q", s.Labels, tt.want)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	tests := []struct{ home, path, want string }{
		{"/srv/app", "", ""},
		{"/srv/app", "data", "/srv/app/data"},
		{"/srv/app", "../data", "/srv/data"},
		{"/srv/app", "/data", "/data"},
		{"/srv/app", "@HOME", "/srv/app"},
		{"/srv/app/", "@HOME/log/@ROLE.log", "/srv/app/log/@ROLE.log"},
		{"/srv/app", "@HOMELAND", "/srv/app/@HOMELAND"},
		{"/", "@HOME/data", "/data"},
		{"home", "@HOME/data", "home/data"},
		{"", "@HOME/data", "data"},
		{"", "data", "data"},
		{"/$1", "@HOME/x", "/$1/x"},
	}
	for _, tt := range tests {
		if got := ResolvePath(tt.home, tt.path); got != tt.want {
			t.Errorf("ResolvePath(%q, %q) = %q, want %q", tt.home, tt.path, got, tt.want)
		}
	}
	s, err := loadSample(t, "app: {dirs: [x, /y]}", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Dir != "/srv/app/dir" || !reflect.DeepEqual(s.Dirs, []string{"/srv/app/x", "/y"}) || s.Text != "text" {
		t.Errorf("got %q, %q and %q", s.Dir, s.Dirs, s.Text)
	}
}
