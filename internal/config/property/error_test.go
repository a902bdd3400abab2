// SPDX-License-Identifier: Apache-2.0

package property

import (
	"strings"
	"testing"
)

// TestErrors has every kind of problem with the exact line that a user reads.
func TestErrors(t *testing.T) {
	tests := map[string]struct {
		yaml     string
		env, set []string
		want     string
	}{
		// Names.
		"unknown in file":          {yaml: "app:\n  proxy:\n    pasword: hunter2\n", want: "test.yaml:3: app.proxy.pasword: unknown property, did you mean app.proxy.password?"},
		"unknown camel in file":    {yaml: "app.proxy.minSiez: 1\n", want: "test.yaml:1: app.proxy.minSiez: unknown property, did you mean app.proxy.min-size?"},
		"unknown group":            {yaml: "app:\n  proxi: {host: x}\n", want: "test.yaml:2: app.proxi: unknown property, did you mean app.proxy?"},
		"unknown, nothing near":    {yaml: "app:\n  elephant: 1\n", want: "test.yaml:2: app.elephant: unknown property"},
		"unknown, short":           {set: []string{"app.proxy.zzz=1"}, want: "--set: app.proxy.zzz: unknown property"},
		"unknown root":             {yaml: "ap:\n  count: 1\n", want: "test.yaml:1: ap: unknown property, did you mean app?"},
		"foreign root":             {yaml: "logging.level: x\n", want: "test.yaml:1: logging.level: unknown property"},
		"unknown in element":       {yaml: "app:\n  plugins:\n  - url: x\n    knid: AUTO\n", want: "test.yaml:4: app.plugins[0].knid: unknown property, did you mean app.plugins[0].kind?"},
		"unknown in set":           {set: []string{"app.prxoy.port=hunter2"}, want: "--set: app.prxoy.port: unknown property, did you mean app.proxy.port?"},
		"unknown element in set":   {set: []string{"app.plugins[12].ur=x"}, want: "--set: app.plugins[12].ur: unknown property, did you mean app.plugins[12].url?"},
		"unknown in environment":   {env: []string{"APP_PROXY_PROT=hunter2"}, want: "environment variable APP_PROXY_PROT: unknown property, did you mean APP_PROXY_PORT?"},
		"unknown env element":      {env: []string{"APP_PLUGINS_12_KNID=x"}, want: "environment variable APP_PLUGINS_12_KNID: unknown property, did you mean APP_PLUGINS_12_KIND?"},
		"unknown env, not near":    {env: []string{"APP_ELEPHANT=x"}, want: "environment variable APP_ELEPHANT: unknown property"},
		"group in environment":     {env: []string{"APP_PROXY=x"}, want: "environment variable APP_PROXY: unknown property"},
		"nothing in environment":   {env: []string{"APP_=x"}, want: "environment variable APP_: unknown property"},
		"below a leaf":             {set: []string{"app.count.x=1"}, want: "--set: app.count.x: unknown property, did you mean app.count?"},
		"position of a leaf":       {set: []string{"app.count[0]=1"}, want: "--set: app.count[0]: unknown property"},
		"trailing dot":             {set: []string{"app.proxy.=1"}, want: "--set: app.proxy.: unknown property, did you mean app.proxy?"},
		"empty name":               {set: []string{"=1"}, want: "--set: unknown property"},
		"no equals sign":           {set: []string{"app.proxy.password:hunter2"}, want: "--set: app.proxy.password: must have the form property=value"},
		"name with a line break":   {yaml: "\"app.x\\ny\": 1\n", want: `test.yaml:1: "app.x\ny": unknown property`},
		"list without a position":  {set: []string{"app.plugins.url=x"}, want: "--set: app.plugins.url: the name of a list must be followed by a position such as [0]"},
		"negative position":        {set: []string{"app.names[-1]=x"}, want: "--set: app.names[-1]: the name of a list must be followed by a position such as [0]"},
		"huge position":            {set: []string{"app.names[99999999999999999999]=x"}, want: "--set: app.names[99999999999999999999]: the name of a list must be followed by a position such as [0]"},
		"huge position in env":     {env: []string{"APP_NAMES_99999999999999999999=x"}, want: "environment variable APP_NAMES_99999999999999999999: unknown property, did you mean APP_NAMES?"},
		"gap":                      {set: []string{"app.names[0]=x", "app.names[2]=x"}, want: "--set: app.names: must not have a gap: position 2 is given, but 1 is missing"},
		"gap in environment":       {env: []string{"APP_PLUGINS_1_URL=x"}, want: "environment variable APP_PLUGINS_1_URL: app.plugins: must not have a gap: position 1 is given, but 0 is missing"},
		"gap in file":              {yaml: "app.names[0]: x\n\napp.names[1000000000]: x", want: "test.yaml:3: app.names: must not have a gap: position 1000000000 is given, but 1 is missing"},
		"gap in lower source only": {yaml: "app.names: [x]", set: []string{"app.names[1]=y"}, want: "--set: app.names: must not have a gap: position 1 is given, but 0 is missing"},

		// Names given twice.
		"twice in file":      {yaml: "app:\n  proxy:\n    minSize: 1\n    min-size: 1\n", want: "test.yaml:4: app.proxy.min-size: must not be given twice, as app.proxy.minSize in line 3 and as app.proxy.min-size in line 4"},
		"nested and dotted":  {yaml: "app: {count: 1}\napp.count: 2\n", want: "test.yaml:2: app.count: must not be given twice, as app.count in line 1 and as app.count in line 2"},
		"twice in set":       {set: []string{"app.proxy.minSize=1", "app.proxy.min-size=1"}, want: "--set: app.proxy.min-size: must not be given twice, as app.proxy.minSize and as app.proxy.min-size"},
		"twice in env":       {env: []string{"APP_COUNT=1", "APP_COUNT=2"}, want: "environment variable APP_COUNT: app.count: must not be given twice, as APP_COUNT and as APP_COUNT"},
		"list twice":         {env: []string{"APP_NAMES=a", "APP_NAMES_0=b"}, want: "environment variable APP_NAMES_0: app.names: must not be given twice, as APP_NAMES and as APP_NAMES_0"},
		"list twice in file": {yaml: "app.plugins[0].url: x\napp:\n  plugins: []", want: "test.yaml:3: app.plugins: must not be given twice, as app.plugins[0].url in line 1 and as app.plugins in line 3"},
		"list and positions": {yaml: "app: {names: [x]}\napp.names: {\"[1]\": y}", want: "test.yaml:2: app.names: must not be given twice, as app.names in line 1 and as app.names in line 2"},
		"map twice":          {yaml: "app: {labels: {a: b}}\napp.labels.c: d", want: "test.yaml:2: app.labels: must not be given twice, as app.labels in line 1 and as app.labels.c in line 2"},
		"map whole twice":    {yaml: "app.labels.c: d\napp: {labels: {a: b}}", want: "test.yaml:2: app.labels: must not be given twice, as app.labels.c in line 1 and as app.labels in line 2"},
		"key twice":          {yaml: "app: {labels: {a: b, a: c}}", want: "test.yaml:1: app.labels.a: must not be given twice, as app.labels.a in line 1 and as app.labels.a in line 1"},

		// Values.
		"bool":                 {yaml: "app: {flag: yes}", want: `test.yaml:1: app.flag = "yes": must be true or false`},
		"integer":              {env: []string{"APP_COUNT=many"}, want: `environment variable APP_COUNT: app.count = "many": must be an integer`},
		"integer, empty":       {env: []string{"APP_COUNT="}, want: `environment variable APP_COUNT: app.count = "": must be an integer`},
		"integer, point":       {yaml: "app: {count: 1.0}", want: `test.yaml:1: app.count = "1.0": must be an integer`},
		"integer, exponent":    {yaml: "app: {count: 1e3}", want: `test.yaml:1: app.count = "1e3": must be an integer`},
		"integer, hexadecimal": {yaml: "app: {count: 0x10}", want: `test.yaml:1: app.count = "0x10": must be an integer`},
		"integer, octal":       {yaml: "app: {count: 010}", want: `test.yaml:1: app.count = "010": must be an integer`},
		"short overflow":       {set: []string{"app.small=40000"}, want: `--set: app.small = "40000": must be between -5 and 32767`},
		"int overflow":         {set: []string{"app.proxy.max-size=-3000000000"}, want: `--set: app.proxy.max-size = "-3000000000": must be between -2147483648 and 2147483647`},
		"long overflow":        {set: []string{"app.big=9223372036854775808"}, want: `--set: app.big = "9223372036854775808": must be between -9223372036854775808 and 9223372036854775807`},
		"too small":            {set: []string{"app.small=-6"}, want: `--set: app.small = "-6": must be at least -5`},
		"too large":            {set: []string{"app.count=101"}, want: `--set: app.count = "101": must be at most 100`},
		"out of range":         {set: []string{"app.ratio=1.5"}, want: `--set: app.ratio = "1.5": must be between 0 and 1`},
		"not a number":         {set: []string{"app.ratio=nan"}, want: `--set: app.ratio = "nan": must be a number`},
		"hexadecimal number":   {set: []string{"app.ratio=0x1p-2"}, want: `--set: app.ratio = "0x1p-2": must be a number`},
		"enum":                 {yaml: "app:\n  mode: MAYBE", want: `test.yaml:2: app.mode = "MAYBE": must be one of ON, OFF`},
		"required":             {set: []string{"app.text="}, want: `--set: app.text = "": must not be empty`},
		"too short":            {set: []string{"app.word=ä"}, want: `--set: app.word = "ä": must have at least 2 characters`},
		"too long, shortened":  {set: []string{"app.text=" + strings.Repeat("x", 201)}, want: `--set: app.text = "` + strings.Repeat("x", 100) + `"…: must have at most 200 characters`},
		"line break":           {yaml: `app: {count: "1\n2"}`, want: `test.yaml:1: app.count = "1\n2": must be an integer`},
		"own rule of a type":   {set: []string{"app.even=3"}, want: `--set: app.even = "3": must be even`},
		"element":              {set: []string{"app.ports=1,10"}, want: `--set: app.ports[1] = "10": must be between 1 and 9`},
		"enum element":         {yaml: "app:\n  modes:\n  - ON\n  - UP", want: `test.yaml:4: app.modes[1] = "UP": must be one of ON, OFF`},
		"too many elements":    {set: []string{"app.names=a,b,c,d"}, want: `--set: app.names: must have at most 3 elements`},
		"too many positions":   {set: []string{"app.names[0]=a", "app.names[1]=a", "app.names[2]=a", "app.names[3]=a"}, want: `--set: app.names: must have at most 3 elements`},
		"mask":                 {set: []string{"app.proxy.password=***"}, want: `--set: app.proxy.password = ***: must not be the mask that is shown instead of a sensitive value`},

		// Shapes.
		"value for group":          {yaml: "app: {proxy: hunter2}", want: "test.yaml:1: app.proxy = ***: must be a group of properties, not a value"},
		"value for group in set":   {set: []string{"app=x"}, want: "--set: app = ***: must be a group of properties, not a value"},
		"list for group":           {yaml: "app: [1]", want: "test.yaml:1: app: must be a group of properties, not a list"},
		"group for value":          {yaml: "app: {count: {x: 1}}", want: "test.yaml:1: app.count: must be one value, not a group"},
		"list for value":           {yaml: "app: {count: [1]}", want: "test.yaml:1: app.count: must be one value, not a list"},
		"value for list":           {yaml: "app: {names: a}", want: `test.yaml:1: app.names = "a": must be a list, not a value`},
		"value for list in set":    {set: []string{"app.plugins=hunter2"}, want: "--set: app.plugins = ***: must be a list, not a value"},
		"group for list":           {yaml: "app: {plugins: {url: x}}", want: "test.yaml:1: app.plugins: must be a list, not a group"},
		"value for map":            {yaml: "app: {labels: a}", want: `test.yaml:1: app.labels = "a": must be a group of keys, not a value`},
		"value for map in set":     {set: []string{"app.labels=a"}, want: `--set: app.labels = "a": must be a list of key=value separated by commas`},
		"null":                     {yaml: "app:\n  count:\n", want: "test.yaml:2: app.count: must have a value"},
		"null secret by a comment": {yaml: "app: {proxy: {password: }} #hunter2", want: "test.yaml:1: app.proxy.password: must have a value"},
		"null list":                {yaml: "app: {names: ~}", want: "test.yaml:1: app.names: must have a value"},
		"null element":             {yaml: "app: {plugins: [~]}", want: "test.yaml:1: app.plugins[0]: must have a value"},
		"empty key":                {set: []string{"app.labels==x"}, want: "--set: app.labels: must not have an empty key"},
		"null key":                 {yaml: "app: {labels: {a: ~}}", want: "test.yaml:1: app.labels.a: must have a value"},

		// Rules of structs; the source is that of what was set.
		"struct rule":            {yaml: "app:\n  proxy:\n    min-size: 10\n", want: `test.yaml:3: app.proxy.min-size = "10": must not be greater than max-size`},
		"struct rule, other":     {yaml: "app:\n  proxy:\n    port: 1\n", set: []string{"app.proxy.max-size=0"}, want: `--set: app.proxy.min-size = "1": must not be greater than max-size`},
		"struct rule, both":      {yaml: "app.proxy.max-size: 5", env: []string{"APP_PROXY_MIN_SIZE=6"}, want: `environment variable APP_PROXY_MIN_SIZE: app.proxy.min-size = "6": must not be greater than max-size`},
		"embedded rule":          {set: []string{"app.proxy.host=forbidden"}, want: `--set: app.proxy.host = "forbidden": must not be forbidden`},
		"plain error of a rule":  {set: []string{"app.proxy.host=nowhere"}, want: `--set: app.proxy: must be somewhere`},
		"missing in an element":  {yaml: "app:\n  plugins:\n  - url: x\n  - kind: JAVA\n", want: `test.yaml:4: app.plugins[1].url = "": must not be empty`},
		"empty element":          {yaml: "app:\n  plugins:\n  - {}\n", want: `test.yaml:2: app.plugins[0].url = "": must not be empty`},
		"replaced, wrong source": {yaml: "app: {plugins: [{url: x}, {kind: AUTO}]}", set: []string{"app.plugins[0].kind=JAVA"}, want: `--set: app.plugins[0].url = "": must not be empty`},

		// Order: the file before the environment before the flags, each from its
		// beginning.
		"first in file":        {yaml: "app:\n  count: x\n  elephant: 1\n", env: []string{"APP_X=1"}, want: `test.yaml:2: app.count = "x": must be an integer`},
		"first in environment": {env: []string{"APP_SMALL=x", "APP_COUNT=x"}, set: []string{"x"}, want: `environment variable APP_COUNT: app.count = "x": must be an integer`},
		"overridden":           {yaml: "app: {count: x}", set: []string{"app.count=1"}, want: `test.yaml:1: app.count = "x": must be an integer`},

		// YAML.
		"malformed":          {yaml: "app:\n  a: b\n   c: d\n", want: "test.yaml:3: malformed YAML: mapping values are not allowed in this context"},
		"unclosed":           {yaml: "app: [1\n", want: "test.yaml:1: malformed YAML: did not find expected ',' or ']'"},
		"control character":  {yaml: "app:\n  count: \x01\n", want: "test.yaml:2: malformed YAML: control characters are not allowed"},
		"not UTF-8":          {yaml: "a: 1\nb: \xff\n", want: "test.yaml:2: malformed YAML: invalid leading UTF-8 octet"},
		"unknown anchor":     {yaml: "app:\n  proxy:\n    password: *hunter2\n", want: "test.yaml:3: malformed YAML: unknown anchor; put a value that begins with * in quotes"},
		"tag":                {yaml: "app:\n  proxy:\n    password: !hunter2\n", want: "test.yaml:3: YAML tags must not be used; put a value that begins with ! in quotes"},
		"merge key":          {yaml: "app:\n  proxy: &p {port: 1}\n  <<: *p\n", want: "test.yaml:3: merge keys (<<) must not be used"},
		"odd key":            {yaml: "app:\n  [a]: 1\n", want: "test.yaml:2: the name of a property must be one word"},
		"second document":    {yaml: "app: {count: 1}\n---\napp: {count: 2}\n", want: "test.yaml:2: a configuration file must be one YAML document"},
		"broken second":      {yaml: "app: {count: 1}\n---\n[\n", want: "test.yaml:3: malformed YAML: did not find expected node content"},
		"root is a list":     {yaml: "- app\n", want: "test.yaml:1: a configuration file must hold a group of properties, not a list"},
		"root is a value":    {yaml: "app\n", want: "test.yaml:1: a configuration file must hold a group of properties, not a value"},
		"alias of itself":    {yaml: "app: &a\n  proxy: *a\n", want: "test.yaml:2: the file must not have more than 100000 values or 64 levels, aliases included"},
		"aliases of aliases": {yaml: bomb(), want: "test.yaml:5: the file must not have more than 100000 values or 64 levels, aliases included"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := loadSample(t, tt.yaml, tt.env, tt.set)
			wantError(t, err, tt.want)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Error("the error tells the secret")
			}
		})
	}
}

// bomb is a small file of which aliases make millions of values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 8; i++ {
		prev := string(rune('0' + i - 1))
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [")
		b.WriteString(strings.TrimSuffix(strings.Repeat("*a"+prev+", ", 10), ", "))
		b.WriteString("]\n")
	}
	return b.String()
}
