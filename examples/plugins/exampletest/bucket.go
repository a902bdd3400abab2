// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/wire"
)

const (
	bucketPrefix, accessKey, secretKey = "chat-", "operator", "very/secret"
	timeFormat                         = "20060102T150405Z"
)

// buckets are the buckets in which clients look for files.
var buckets = []string{"user-profile-picture", "group-profile-picture", "message-attachment"}

// A bucket is a storage service with a few buckets. It verifies signatures as the protocol
// requires.
type bucket struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
}

func newBucket(t *testing.T) *bucket {
	b := &bucket{files: map[string][]byte{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if r.Method == http.MethodPost {
			err = b.upload(r)
		} else {
			err = b.access(w, r)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

// signature signs a text with the key that is derived from a credential.
func signature(credential, text string) (string, error) {
	id, scope, _ := strings.Cut(credential, "/")
	parts := strings.Split(scope, "/")
	if id != accessKey || len(parts) != 4 || parts[1] != "eu-west-1" || parts[2] != "s3" || parts[3] != "aws4_request" {
		return "", fmt.Errorf("the credential %q is wrong", credential)
	}
	key := []byte("AWS4" + secretKey)
	for _, part := range append(parts, text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key), nil
}

// upload stores the file of a form whose fields match its policy.
func (b *bucket) upload(r *http.Request) error {
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		return err
	}
	want, err := signature(r.FormValue("x-amz-credential"), r.FormValue("policy"))
	name := strings.TrimPrefix(r.URL.Path, "/"+bucketPrefix)
	if err != nil || !slices.Contains(buckets, name) || r.FormValue("x-amz-signature") != want {
		return fmt.Errorf("the signature is wrong: %w", err)
	}
	text, err := base64.StdEncoding.DecodeString(r.FormValue("policy"))
	if err != nil {
		return err
	}
	var policy struct {
		Expiration time.Time
		Conditions []json.RawMessage
	}
	if err := json.Unmarshal(text, &policy); err != nil || time.Now().After(policy.Expiration) {
		return fmt.Errorf("the policy is wrong: %s", text)
	}
	allowed := []string{"policy", "x-amz-signature"}
	for _, c := range policy.Conditions {
		var fields map[string]string
		if json.Unmarshal(c, &fields) != nil {
			continue // The content-length range.
		}
		for name, value := range fields {
			if allowed = append(allowed, name); name != "bucket" && r.FormValue(name) != value {
				return fmt.Errorf("the field %s is not %q", name, value)
			}
		}
	}
	for name := range r.MultipartForm.Value {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("the policy says nothing about the field %s", name)
		}
	}
	file, _, err := r.FormFile("file")
	if err != nil {
		return err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[name+"/"+r.FormValue("key")] = data
	return err
}

// access handles a request with a signed URL.
func (b *bucket) access(w http.ResponseWriter, r *http.Request) error {
	query, given, _ := strings.Cut(r.URL.RawQuery, "&X-Amz-Signature=")
	q := r.URL.Query()
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Method, r.URL.EscapedPath(), query, "host:" + r.Host, "", "host", "UNSIGNED-PAYLOAD"}, "\n")))
	_, scope, _ := strings.Cut(q.Get("X-Amz-Credential"), "/")
	want, err := signature(q.Get("X-Amz-Credential"), strings.Join([]string{"AWS4-HMAC-SHA256", q.Get("X-Amz-Date"), scope, hex.EncodeToString(sum[:])}, "\n"))
	if err != nil || given != want {
		return fmt.Errorf("the signature is wrong: %w", err)
	}
	signed, err := time.Parse(timeFormat, q.Get("X-Amz-Date"))
	if seconds, _ := strconv.Atoi(q.Get("X-Amz-Expires")); err != nil || time.Since(signed) > time.Duration(seconds)*time.Second {
		return fmt.Errorf("the address is too old: %w", err)
	}
	key := strings.TrimPrefix(r.URL.Path, "/"+bucketPrefix)
	b.mu.Lock()
	defer b.mu.Unlock()
	data, there := b.files[key]
	switch {
	case r.Method == http.MethodDelete:
		delete(b.files, key)
		w.WriteHeader(http.StatusNoContent)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, err = w.Write(data)
	}
	return err
}

// info returns the transfer information in a response.
func info(n *wire.AppNotification) map[string]string {
	m := map[string]string{}
	for pair := range slices.Chunk(n.GetData().GetStringsWithVersion().GetStrings(), 2) {
		m[pair[0]] = pair[1]
	}
	return m
}

// upload uploads a file as existing clients do: all values but the URL are fields of the form, and
// the key is the id.
func upload(t *testing.T, fields map[string]string, data string) (int, string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields = maps.Clone(fields)
	fields["key"] = fields["id"]
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "url" {
			if err := form.WriteField(name, fields[name]); err != nil {
				t.Fatal(err)
			}
		}
	}
	file, err := form.CreateFormFile("file", "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(file, data); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return Send(t, "POST", fields["url"], form.FormDataContentType(), &body)
}
