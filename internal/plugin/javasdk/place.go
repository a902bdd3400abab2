// SPDX-License-Identifier: Apache-2.0

package javasdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.org/app/internal/plugin/typings"
)

// A resource is what the operations of a package are about.
type resource struct {
	// path is the part of the paths that they have in common, such as /users; empty if there is
	// none.
	path string
	pkg  string
}

// place chooses the packages of groups and types. A group is in the package of its resource. A type
// is in the package of the resource if no other resource leads to it, else in that of the class
// Api.
func (a *admin) place() {
	a.resources, a.packages = map[string]resource{}, map[string]string{}
	for _, group := range slices.Sorted(maps.Keys(a.Groups)) {
		r := resourceOf(group, a.Groups[group])
		a.resources[group] = r
		given, got := map[string]bool{}, map[string]bool{}
		for _, op := range a.Groups[group] {
			for _, p := range op.Inputs() {
				a.reach(p.Schema, given)
			}
			if op.RequestBody != nil {
				a.reach(op.RequestBody.Schema(), given)
			}
			if s := op.Result(); s != nil {
				a.reach(*s, got)
			}
		}
		maps.Copy(a.given, given)
		maps.Copy(a.got, got)
		maps.Copy(given, got)
		for name := range given {
			if known := a.packages[name]; known != "" && known != r.pkg {
				a.packages[name] = apiPackage
			} else {
				a.packages[name] = r.pkg
			}
		}
	}
}

// reach notes the types that a type leads to.
func (a *admin) reach(s typings.Schema, seen map[string]bool) {
	if name := refOf(s); name != "" {
		if seen[name] {
			return
		}
		seen[name] = true
		s = a.Schemas[name]
	}
	for _, p := range s.Properties {
		a.reach(p, seen)
	}
	if s.Items != nil {
		a.reach(*s.Items, seen)
	}
	if v := s.Values(); v != nil {
		a.reach(*v, seen)
	}
}

// resourceOf returns the resource of a group: the first segment of the paths of its operations, or
// the group if they differ.
func resourceOf(group string, operations map[string]typings.Operation) resource {
	first := ""
	for _, op := range operations {
		segment, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
		if first != "" && first != segment {
			return resource{pkg: apiPackage + "." + packageName(group)}
		}
		first = segment
	}
	return resource{path: "/" + first, pkg: apiPackage + "." + packageName(first)}
}

// packageName is a name of which only the letters and digits remain, in lower case.
func packageName(name string) string {
	return identifier(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name)))
}

// use imports the class of a type of the admin API.
func (a *admin) use(f *file, schema string) string {
	return f.use(a.packages[schema], className(schema))
}

// packageDocs are the sentences on the packages of the resources.
func (a *admin) packageDocs() map[string]string {
	docs := map[string]string{}
	for group, r := range a.resources {
		of := "below <code>" + r.path + "</code>"
		if r.path == "" {
			of = "of the group " + group
		}
		docs[r.pkg] = "The operations of the admin API " + of + ", and the types that only they use."
	}
	return docs
}

// pagePrefix begins the names of the types of pages, which the type of the records follows.
const pagePrefix = "Page"

// pageParts are the parts of im.app.plugin.api.Page, and of every type of pages.
var pageParts = []string{"records", "total", "totalIsExact"}

// pageOf returns the type of the records of which a type is a page.
func (a *admin) pageOf(name string) (item string, ok bool) {
	item, ok = strings.CutPrefix(name, pagePrefix)
	records := a.Schemas[name].Properties["records"]
	return item, ok && records.Items != nil && refOf(*records.Items) == item
}

// checkPages compares the types of pages with im.app.plugin.api.Page, which is written by hand.
func (a *admin) checkPages() error {
	for name, s := range a.Schemas {
		if _, ok := a.pageOf(name); !ok {
			continue
		}
		if parts := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(parts, pageParts) {
			return fmt.Errorf("the type %s has the parts %v, im.app.plugin.api.Page has %v", name, parts, pageParts)
		}
	}
	return nil
}
