// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/plugin"
	"example.org/app/internal/role"
)

// Endpoints returns the operations that plugins serve at the admin interface of a role.
func (p *Plugins) Endpoints(r role.Role) admin.DynamicOperations { return endpoints{p.Manager, r} }

// endpoints are the operations that plugins serve at the admin interface of a role.
type endpoints struct {
	manager *plugin.Manager
	role    role.Role
}

// At implements admin.DynamicOperations.
func (s endpoints) At(path string) []*admin.Operation {
	found := s.manager.Endpoints.Find(s.role, path)
	if len(found) == 0 {
		return nil
	}
	list := make([]*admin.Operation, len(found))
	for i, e := range found {
		list[i] = s.operation(e)
	}
	return list
}

// All implements admin.DynamicOperations. It omits endpoints of extensions that cannot run.
func (s endpoints) All() (list []*admin.Operation) {
	for _, e := range s.manager.Endpoints.All(s.role) {
		if e.Down == "" {
			list = append(list, s.operation(e))
		}
	}
	return list
}

// endpointCall is the input of an endpoint: raw, for validation by a new version of the plugin, and
// validated.
type endpointCall struct {
	in      plugin.EndpointInput
	request *plugin.EndpointRequest
}

// operation converts an endpoint to an operation of the admin interface.
func (s endpoints) operation(e *plugin.PublishedEndpoint) *admin.Operation {
	return admin.HandleDynamic(admin.Operation{
		ID: e.OperationID(), Method: e.Method, Path: e.Path(), Tag: "Plugin " + e.Plugin.ID, Summary: e.Summary, Description: e.Description,
		Permission: e.Permission,
	}, admin.Dynamic{
		Query: documentOf(e.Query), Body: documentOf(e.Body), Result: documentOf(e.Result), ContentType: e.ContentType, Version: e.Plugin.Digest,
		Read: func(query map[string][]string, body []byte) (any, map[string]any, error) {
			in := plugin.EndpointInput{Path: e.Values, Query: query, Body: body}
			request, params, err := e.Read(in)
			return &endpointCall{in, request}, params, err
		},
		Run: func(ctx context.Context, in any, by admin.Caller) (any, error) {
			c := in.(*endpointCall)
			c.request.RequestID = by.RequestID
			if by.Remote.IsValid() {
				c.request.IP = by.Remote.String()
			}
			if who := admin.Requester(ctx); who != nil {
				c.request.AdminID = &who.ID
			}
			answer, err := s.manager.Endpoints.Serve(ctx, s.role, e, c.in, c.request)
			switch {
			case err != nil:
				return nil, err
			case answer.Content != nil:
				return &admin.Content{ContentType: e.ContentType, Body: answer.Content}, nil
			}
			return answer.Data, nil
		},
	})
}

// documentOf returns a schema for the OpenAPI document; nil if there is none.
func documentOf(s *plugin.ValueSchema) map[string]any {
	if s == nil {
		return nil
	}
	return s.Document()
}

var _ admin.DynamicOperations = endpoints{}
