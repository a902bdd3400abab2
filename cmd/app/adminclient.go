// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// adminFlags are the address of a node and the credentials of a command that sends requests to it.
type adminFlags struct {
	URL       string `default:"http://localhost:8510" env:"APP_URL" placeholder:"URL" help:"Admin interface of any node of the cluster (default: http://localhost:8510)."`
	Token     string `env:"APP_TOKEN" placeholder:"TOKEN" help:"Access token of an administrator. Other users of this machine can see it in the process list; prefer APP_TOKEN or --token-file."`
	TokenFile string `placeholder:"FILE" xor:"token" help:"File that holds the token."`
}

// client returns the client that the flags describe.
func (f adminFlags) client() (adminClient, error) {
	c := adminClient{url: strings.TrimSuffix(f.URL, "/"), token: f.Token}
	if u, err := url.Parse(c.url); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, fmt.Errorf("--url=%s: must be an http or https URL", f.URL)
	}
	if f.TokenFile != "" {
		text, err := os.ReadFile(f.TokenFile)
		if err != nil {
			return c, fmt.Errorf("read the token: %w", err)
		}
		c.token = strings.TrimSpace(string(text))
	}
	if c.token == "" {
		return c, errors.New("there is no token: set APP_TOKEN or --token-file; POST /admins/tokens creates one")
	}
	return c, nil
}

// commandContext returns the context of a command, which ends at the timeout or at a signal.
func commandContext(timeout time.Duration) (ctx context.Context, stop func()) {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	return ctx, func() {
		cancel()
		release()
	}
}

// An adminClient sends requests to the admin interface of a node.
type adminClient struct{ url, token string }

// noRevision is the revision of requests without If-Match.
const noRevision = -1

// call sends a request and decodes the data of the response into data, which may be nil.
func (c adminClient) call(ctx context.Context, method, target, contentType string, body []byte, revision int64, data any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.url+target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", contentType)
	if revision != noRevision {
		req.Header.Set("If-Match", strconv.Quote(strconv.FormatInt(revision, 10)))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var envelope struct {
		Code   int
		Reason string
		Data   json.RawMessage
	}
	if err := json.Unmarshal(answer, &envelope); err != nil && len(answer) > 0 {
		return fmt.Errorf("%s is not the admin interface of a node: it answered %s", c.url, resp.Status)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("%s (%d)", envelope.Reason, envelope.Code)
	}
	if data == nil || len(envelope.Data) == 0 {
		return nil
	}
	return json.Unmarshal(envelope.Data, data)
}
