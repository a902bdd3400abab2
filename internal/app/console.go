// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"example.org/app/internal/certificate"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/console"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	sdk "example.org/app/sdk/js"
)

// consolePath is where the admin interface of a service serves the console.
const consolePath = "/console/"

// start opens the port of the console. If it is in use, the start continues, because the admin
// interface serves the console, too.
func (p *consolePort) start(ctx context.Context) error {
	c := p.Process.opts.Config.Console
	if !p.Process.runs(role.Service) || !c.Enabled {
		return nil
	}
	opts := console.ServerOptions{Host: c.Host, Port: int(c.Port), Logger: p.Logs.logger}
	if c.SSL.Enabled {
		loaded, err := certificate.Load(certificateFiles(c.SSL), p.Logs.logger)
		if err != nil {
			return fmt.Errorf("web console: %w", err)
		}
		opts.Certificate = loaded.Get
	}
	server, err := console.Listen(ctx, opts)
	if err != nil {
		p.Logs.logger.Warn("the web console has no port of its own", "port", c.Port, "error", err)
		return nil
	}
	p.server = server
	p.Process.lifecycle.add(part{name: "console port", stop: server.Shutdown})
	return nil
}

// start serves the console on its own port and mounts it on the admin
// interface of the service.
func (p *webConsole) start(context.Context) error {
	c := p.Process.opts.Config.Console
	if !p.Process.runs(role.Service) || !c.Enabled {
		return nil
	}
	typings, err := readTypings()
	if err != nil {
		return err
	}
	documents := map[string]func() []byte{}
	for _, r := range role.All {
		documents[r.Name()] = sync.OnceValue(func() []byte { return OpenAPI(r) })
	}
	authentication := derived(p.Process.live, func(c *config.Config) *bool {
		off := !c.Service.AdminAPI.UseAuthentication
		return &off
	})
	p.console = console.New(console.Options{
		Name: p.Nodes.byRole[role.Service].ID(), Service: p.Operating.apis[role.Service], Authenticator: p.Administrators.authenticator(),
		AuthenticationOff: func() bool { return *authentication() }, Node: p.node,
		SignOn:    p.Administrators.consoleSignOn(),
		Documents: documents, Protocol: sync.OnceValue(protocolDescriptors), Typings: typings, Documentation: Documentation(), Version: version,
		Logger: p.Logs.logger,
	})
	if server := p.ConsolePort.server; server != nil {
		handler := p.console.Handler("/")
		p.Process.lifecycle.add(part{
			name: "console",
			run:  func(context.Context) error { return server.Serve(handler) },
			stop: server.Shutdown,
		})
	}
	return nil
}

// mount serves the console below consolePath and everything else by api.
func (p *webConsole) mount(api http.Handler) http.Handler {
	if p.console == nil {
		return api
	}
	pages := p.console.Handler(consolePath)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path+"/" == consolePath || strings.HasPrefix(r.URL.Path, consolePath) {
			pages.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// node finds a node for the console's proxy. Records created by administrators are excluded,
// because credentials would be sent to their address.
func (p *webConsole) node(id string) (console.Node, bool) {
	for r, node := range p.Nodes.byRole {
		if node.ID() == id {
			n := console.Node{ID: id, Local: p.Operating.apis[r]}
			if m, ok := p.Nodes.cluster.Member(id); ok && r == role.Gateway {
				n.ClientURL = clientURL(m)
			}
			return n, true
		}
	}
	m, ok := p.Nodes.cluster.Member(id)
	if !ok || !m.Status.HasJoined {
		return console.Node{}, false
	}
	return console.Node{ID: id, AdminURL: m.AdminAPIAddress, ClientURL: clientURL(m)}, true
}

// clientURL is the WebSocket address of a member as a URL.
func clientURL(m cluster.Member) string {
	if m.WSAddress == "" || strings.Contains(m.WSAddress, "://") {
		return m.WSAddress
	}
	return "ws://" + m.WSAddress
}

// protocolDescriptors describes the client protocol, from which the playground
// of the console makes its forms.
func protocolDescriptors() []byte {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add((*wire.AppRequest)(nil).ProtoReflect().Descriptor().ParentFile())
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		panic(fmt.Sprintf("app: describe the client protocol: %v", err)) // All its texts are UTF-8.
	}
	return data
}

// readTypings returns the types for plugins, for code completion in the console.
func readTypings() (map[string][]byte, error) {
	names, err := fs.Glob(sdk.Types, "*.d.ts")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, name := range names {
		data, err := sdk.Types.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the types for plugins: %w", err)
		}
		files[path.Base(name)] = data
	}
	return files, nil
}

// ConsoleURL returns the address of the console, or "" when it is not served.
func (a *App) ConsoleURL() string {
	switch {
	case a.units.Console.console == nil:
		return ""
	case a.units.ConsolePort.server != nil:
		return a.units.ConsolePort.server.URL() + "/"
	case a.units.AdminPorts.servers[role.Service] != nil:
		return a.units.AdminPorts.servers[role.Service].URL() + consolePath
	}
	return ""
}
