// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/app/internal/config"
)

func TestAdvertisedHost(t *testing.T) {
	detector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "203.0.113.9\n") }))
	defer detector.Close()
	nonsense := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }))
	defer nonsense.Close()
	tests := []struct {
		name      string
		address   config.Address
		bind      string
		detectors []string
		want      string // or "!" and a part of the error
	}{
		{"given", config.Address{AdvertiseStrategy: config.AdvertiseAddress, AdvertiseHost: "im.example.org"}, "0.0.0.0", nil, "im.example.org"},
		{"bound", config.Address{AdvertiseStrategy: config.BindAddress}, "0.0.0.0", nil, "0.0.0.0"},
		{"private of a server on one address", config.Address{AdvertiseStrategy: config.PrivateAddress}, "127.0.0.1", nil, "127.0.0.1"},
		{"public", config.Address{AdvertiseStrategy: config.PublicAddress}, "0.0.0.0", []string{nonsense.URL, detector.URL}, "203.0.113.9"},
		{"public, nobody knows", config.Address{AdvertiseStrategy: config.PublicAddress}, "0.0.0.0", []string{nonsense.URL}, "!" + nonsense.URL},
		{"public, nobody to ask", config.Address{AdvertiseStrategy: config.PublicAddress}, "0.0.0.0", nil, "!no detector"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := advertisedHost(t.Context(), tt.address, tt.bind, tt.detectors)
			if part, fails := strings.CutPrefix(tt.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q", err, part)
				}
			} else if err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	if got, err := privateAddress(); err != nil || got == "" {
		t.Errorf("private address %q, %v", got, err)
	}
}
