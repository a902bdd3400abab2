// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"archive/zip"
	"bytes"
	"testing"
)

// sample is an API of which some classes have moved.
func sample(t *testing.T) *API {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"Api", "Page", "DeleteResult", "package-info", "users/User", "users/User$1", "users/QueryUserPage", "groups/Group", "messages/MessageInfo"} {
		if _, err := w.Create("im/app/plugin/api/" + name + ".class"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Create("im/app/plugin/apiary/Bee.class"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	api, err := Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(api.packages) != 7 {
		t.Errorf("the packages are %v", api.packages)
	}
	return api
}

func TestSource(t *testing.T) {
	api := sample(t)
	for name, c := range map[string]struct{ file, old, now string }{
		"imports": {
			"A.java",
			"package p;\n\nimport im.app.plugin.api.Api;\nimport im.app.plugin.api.User;\r\nimport im.app.plugin.api.Unknown;\nimport java.util.List;\n\nclass A { User u; im.app.plugin.api.Group g; /** {@link im.app.plugin.api.User} */ String s = \"im.app.plugin.api.User\"; }\n",
			"package p;\n\nimport im.app.plugin.api.Api;\nimport im.app.plugin.api.users.User;\r\nimport im.app.plugin.api.Unknown;\nimport java.util.List;\n\nclass A { User u; im.app.plugin.api.groups.Group g; /** {@link im.app.plugin.api.users.User} */ String s = \"im.app.plugin.api.users.User\"; }\n",
		},
		"pages": {
			"A.java",
			"import im.app.plugin.api.PageGroup;\nimport im.app.plugin.api.PageUser;\nimport im.app.plugin.api.User;\n\n/** Reads a {@link PageUser}. */\nclass A {\n    PageUser p; PageGroup g; Object o = PageUser.class; // PageUser\n    String s = \"PageUser\" + '\"';\n    im.app.plugin.api.PageMessage m; PageSize size;\n}\n",
			"import im.app.plugin.api.Page;\nimport im.app.plugin.api.groups.Group;\nimport im.app.plugin.api.users.User;\n\n/** Reads a {@link Page}. */\nclass A {\n    Page<User> p; Page<Group> g; Object o = Page.class; // Page\n    String s = \"PageUser\" + '\"';\n    im.app.plugin.api.Page<im.app.plugin.api.messages.MessageInfo> m; PageSize size;\n}\n",
		},
		"names that mean something else": {
			"A.java",
			"import im.app.plugin.api.PageUser;\nimport org.x.Page;\nimport org.x.User;\nclass A { PageUser p; Page q; User u; }\n",
			"import org.x.Page;\nimport org.x.User;\nclass A { im.app.plugin.api.Page<im.app.plugin.api.users.User> p; Page q; User u; }\n",
		},
		"all classes": {
			"A.java",
			"import im.app.plugin.api.*;\nimport org.x.Group;\nclass A { PageUser p; User u; Group g; }\n",
			"import im.app.plugin.api.*;\nimport im.app.plugin.api.users.*;\nimport org.x.Group;\nclass A { Page<User> p; User u; Group g; }\n",
		},
		"all classes of which none is used": {"A.java", "import im.app.plugin.api.*;\nclass A {}\n", "import im.app.plugin.api.*;\nclass A {}\n"},
		"kotlin": {
			"A.kt",
			"import im.app.plugin.api.QueryUserPage\nimport im.app.plugin.api.PageUser\n/* a /* b */ PageUser */\nfun a(p: PageUser?) = PageUser::class\nval b = \"\"\"\nPageUser \" \"\"\"\n",
			"import im.app.plugin.api.users.QueryUserPage\nimport im.app.plugin.api.Page\nimport im.app.plugin.api.users.User\n/* a /* b */ Page */\nfun a(p: Page<User>?) = Page::class\nval b = \"\"\"\nPageUser \" \"\"\"\n",
		},
		"scala": {
			"A.scala",
			"import im.app.plugin.api.{User, Group => G, PageUser}\nimport im.app.plugin.api._\nclass A { val p: PageUser = null; val m: MessageInfo = 'x }\n",
			"import im.app.plugin.api.users.User\nimport im.app.plugin.api.groups.{Group => G}\nimport im.app.plugin.api.Page\nimport im.app.plugin.api._\nimport im.app.plugin.api.messages._\nimport im.app.plugin.api.users._\nclass A { val p: Page[User] = null; val m: MessageInfo = 'x }\n",
		},
		"nothing of the API": {"A.java", "class A { PageUser p; }\n", "class A { PageUser p; }\n"},
	} {
		got := api.Source(c.file, []byte(c.old))
		if string(got) != c.now {
			t.Errorf("%s:\n%s\ninstead of\n%s", name, got, c.now)
		}
		if again := api.Source(c.file, got); !bytes.Equal(again, got) {
			t.Errorf("%s: the second time makes\n%s\nof\n%s", name, again, got)
		}
	}
}

func TestHandles(t *testing.T) {
	for name, want := range map[string]bool{"A.java": true, "a/A.kt": true, "A.scala": true, "A.class": false, "java": false} {
		if Handles(name) != want {
			t.Errorf("%s is handled: %v", name, !want)
		}
	}
	if _, err := Read([]byte("no jar")); err == nil {
		t.Error("what is no jar is read")
	}
}

// FuzzSplit checks that no byte of a source is lost.
func FuzzSplit(f *testing.F) {
	f.Add("a /* b */ \"c\\\"\" 'd' // e\n\"\"\" f")
	f.Fuzz(func(t *testing.T, source string) {
		for _, nested := range []bool{false, true} {
			joined := ""
			for _, p := range split(source, nested) {
				joined += p.text
			}
			if joined != source {
				t.Errorf("%q is split into the parts of %q", source, joined)
			}
		}
	})
}
