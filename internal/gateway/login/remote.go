// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/telemetry"
)

// maxAnswer is the maximum size of a response body.
const maxAnswer = 256 << 10

// remote authenticates with an HTTP server.
type remote struct {
	settings config.LoginByHTTP
	client   *http.Client
}

func newRemote(settings config.LoginByHTTP) *remote {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// Logins come in bursts and go to one host.
	transport.MaxIdleConnsPerHost = transport.MaxIdleConns
	return &remote{settings, &http.Client{
		Transport: transport,
		Timeout:   time.Duration(settings.Request.TimeoutMillis) * time.Millisecond,
		// Send passwords only to the configured address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// remoteLogin is the body of the request.
type remoteLogin struct {
	Version       int32             `json:"version"`
	UserID        int64             `json:"userId"`
	Password      *string           `json:"password"`
	Device        string            `json:"loggingInDeviceType"`
	DeviceDetails map[string]string `json:"deviceDetails"`
	UserStatus    *string           `json:"userStatus"`
	Location      *remoteLocation   `json:"location"`
	IP            *string           `json:"ip"`
}

type remoteLocation struct {
	Longitude float32           `json:"longitude"`
	Latitude  float32           `json:"latitude"`
	Timestamp *time.Time        `json:"timestamp"`
	Details   map[string]string `json:"details"`
}

func newRemoteLogin(r *Request) remoteLogin {
	l := remoteLogin{
		Version: r.Version, UserID: r.UserID, Password: r.Password, Device: r.Device.String(), DeviceDetails: r.DeviceDetails,
	}
	if r.IP.IsValid() {
		l.IP = new(r.IP.String())
	}
	if r.UserStatus != nil {
		l.UserStatus = new(r.UserStatus.String())
	}
	if r.Location != nil {
		l.Location = &remoteLocation{Longitude: r.Location.Longitude, Latitude: r.Location.Latitude, Details: r.Location.Details}
		if r.Location.Timestamp != nil {
			l.Location.Timestamp = new(time.UnixMilli(*r.Location.Timestamp).UTC())
		}
	}
	return l
}

func (m *remote) authenticate(ctx context.Context, r *Request) (*Permissions, error) {
	ctx, span := telemetry.Child(ctx, "authenticate", telemetry.Client)
	defer span.End()
	body, err := json.Marshal(newRemoteLogin(r))
	if err != nil {
		return nil, fmt.Errorf("encode a login: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, m.settings.Request.HTTPMethod, m.settings.Request.URL.Reveal(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask for a login at %s: %w", m.settings.Request.URL, withoutURL(err))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	for name, value := range m.settings.Request.Headers {
		request.Header.Set(name, value.Reveal())
		if http.CanonicalHeaderKey(name) == "Host" {
			request.Host = value.Reveal()
		}
	}
	telemetry.Inject(ctx, request.Header)
	response, err := m.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for a login at %s: %w", m.settings.Request.URL, withoutURL(err))
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("ask for a login: read the answer: %w", err)
	}
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("ask for a login: the answer must not have more than %d bytes", maxAnswer)
	}
	return m.judge(response, answer)
}

// withoutURL returns the cause of a failed request. The client's error contains the URL, which may
// have credentials.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// judge compares a response with the expected one.
func (m *remote) judge(response *http.Response, body []byte) (*Permissions, error) {
	want := m.settings.Authentication.ResponseExpectation
	if !matchStatus(want.StatusCodes, response.StatusCode) {
		return nil, refuse(fmt.Errorf("the status of the answer is %d, not of %q", response.StatusCode, want.StatusCodes))
	}
	for name, value := range want.Headers {
		if got := response.Header.Get(name); got != value {
			return nil, refuse(fmt.Errorf("the header field %q of the answer is %q, not %q", name, got, value))
		}
	}
	fields, err := decodeObject(body)
	if err != nil {
		return nil, fmt.Errorf("ask for a login: read the answer: %w", err)
	}
	if name, found := mismatch(fields, want.BodyFields); found {
		return nil, refuse(fmt.Errorf("the field %q of the answer is %s, not %q", name, describe(fields[name]), want.BodyFields[name]))
	}
	permissions, err := parsePolicy(fields[claimStatements])
	if err != nil {
		return nil, fmt.Errorf("ask for a login: %w", err)
	}
	return permissions, nil
}

// matchStatus reports whether a status matches one of the patterns.
func matchStatus(patterns []string, status int) bool {
	for _, pattern := range patterns {
		if ok, err := path.Match(pattern, strconv.Itoa(status)); ok && err == nil {
			return true
		}
	}
	return false
}

// decodeObject decodes exactly one JSON object.
func decodeObject(data []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("must be a JSON object: %w", err)
	}
	if object == nil {
		return nil, errors.New("must be a JSON object, not null")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("must be one JSON object and nothing behind it")
	}
	return object, nil
}

func (m *remote) close() { m.client.CloseIdleConnections() }
