// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.org/app/internal/role"
)

type healthCommand struct {
	source
	Timeout time.Duration `default:"5s" help:"How long to wait for the responses."`
}

// Help implements kong.HelpProvider.
func (healthCommand) Help() string {
	return `Sends GET /health to the configured admin ports on this machine. The command succeeds if at least one role answers and every role that answers
is ready. It is meant for health checks of containers that have no curl.

Examples:
  app health
  app health --home /srv/app`
}

// Run implements the command.
func (c healthCommand) Run() error {
	configuration, err := c.load()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	answered := 0
	for _, r := range role.All {
		s := configuration.Service.AdminAPI.HTTP
		if r == role.Gateway {
			s = configuration.Gateway.AdminAPI.HTTP
		}
		scheme := "http"
		if s.SSL.Enabled {
			scheme = "https"
		}
		host := s.Host
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		err := askHealth(ctx, scheme+"://"+net.JoinHostPort(host, strconv.Itoa(int(s.Port)))+"/health")
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			// The role runs elsewhere.
		case err != nil:
			return fmt.Errorf("%s: %w", r.Name(), err)
		default:
			answered++
			fmt.Printf("%s is ready\n", r.Name())
		}
	}
	if answered == 0 {
		return errors.New("no role answers on this machine")
	}
	return nil
}

// askHealth checks one role. It does not verify the certificate, because the connection is local.
func askHealth(ctx context.Context, url string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, strings.TrimSpace(resp.Status))
	}
	return nil
}
