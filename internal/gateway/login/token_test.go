// SPDX-License-Identifier: Apache-2.0

package login

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/wire"
)

// rsaKey is generated once, because that takes long.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func ecKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// file writes a file into a folder of the test.
func file(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func pemFile(t testing.TB, kind string, data []byte) string {
	t.Helper()
	return file(t, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

func publicFile(t testing.TB, key any) string {
	t.Helper()
	data, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pemFile(t, "PUBLIC KEY", data)
}

// sign makes a token. Nil values remove claims.
func sign(t testing.TB, method jwt.SigningMethod, key any, changes jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{
		"sub": "1", "authenticated": true,
		"statements": []any{map[string]any{"effect": "ALLOW", "actions": "CREATE", "resources": "MESSAGE"}},
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	text, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var hmacKey = []byte(strings.Repeat("0123456789abcdef", 4))

func TestTokenAlgorithms(t *testing.T) {
	p256, p384, p521 := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P384()), ecKey(t, elliptic.P521())
	rsaFile := publicFile(t, rsaKey().Public())
	hmacFile := file(t, hmacKey)
	type algorithms = config.JWTAlgorithms
	cases := []struct {
		method jwt.SigningMethod
		key    any
		set    func(*algorithms)
	}{
		{jwt.SigningMethodRS256, rsaKey(), func(a *algorithms) { a.RSA256.PEMFilePath = rsaFile }},
		{jwt.SigningMethodRS384, rsaKey(), func(a *algorithms) { a.RSA384.PEMFilePath = rsaFile }},
		{jwt.SigningMethodRS512, rsaKey(), func(a *algorithms) { a.RSA512.PEMFilePath = rsaFile }},
		{jwt.SigningMethodPS256, rsaKey(), func(a *algorithms) { a.PS256.PEMFilePath = rsaFile }},
		{jwt.SigningMethodPS384, rsaKey(), func(a *algorithms) { a.PS384.PEMFilePath = rsaFile }},
		{jwt.SigningMethodPS512, rsaKey(), func(a *algorithms) { a.PS512.PEMFilePath = rsaFile }},
		{jwt.SigningMethodES256, p256, func(a *algorithms) { a.ECDSA256.PEMFilePath = publicFile(t, p256.Public()) }},
		{jwt.SigningMethodES384, p384, func(a *algorithms) { a.ECDSA384.PEMFilePath = publicFile(t, p384.Public()) }},
		{jwt.SigningMethodES512, p521, func(a *algorithms) { a.ECDSA512.PEMFilePath = publicFile(t, p521.Public()) }},
		{jwt.SigningMethodHS256, hmacKey, func(a *algorithms) { a.HMAC256.FilePath = hmacFile }},
		{jwt.SigningMethodHS384, hmacKey, func(a *algorithms) { a.HMAC384.FilePath = hmacFile }},
		{jwt.SigningMethodHS512, hmacKey, func(a *algorithms) { a.HMAC512.FilePath = hmacFile }},
	}
	if len(cases) != len(publicAlgorithms)+len(secretAlgorithms) {
		t.Error("not every algorithm is tested")
	}
	// A server with a key for one algorithm accepts only that one.
	for _, configured := range cases {
		a := open(t, func(s *config.IdentityAccessManagement) {
			s.Type = config.LoginJWT
			configured.set(&s.JWT.Algorithm)
		})
		for _, signed := range cases {
			permissions, err := a.Authenticate(t.Context(), request(new(sign(t, signed.method, signed.key, nil))))
			want := apierr.LoginAuthenticationFailed
			if signed.method.Alg() == configured.method.Alg() {
				want = apierr.OK
			}
			if got := codeOf(t, err); got != want {
				t.Errorf("a key for %s, a token by %s: got %v, %v", configured.method.Alg(), signed.method.Alg(), got, err)
			}
			if err == nil && (!permissions.Allows(wire.KindCreateMessage) || permissions.Allows(wire.KindQueryMessages) || !permissions.Allows(wire.KindDeleteSession)) {
				t.Errorf("%s: permitted is %q", signed.method.Alg(), allowed(permissions))
			}
		}
	}
}

// TestTokenForgeries tries known attacks.
func TestTokenForgeries(t *testing.T) {
	public, err := x509.MarshalPKIXPublicKey(rsaKey().Public())
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	rsaFile, hmacFile := file(t, publicPEM), file(t, hmacKey)
	a := open(t, func(s *config.IdentityAccessManagement) {
		s.Type = config.LoginJWT
		s.JWT.Algorithm.RSA256.PEMFilePath = rsaFile
		s.JWT.Algorithm.HMAC256.FilePath = hmacFile
	})
	good := sign(t, jwt.SigningMethodHS256, hmacKey, nil)
	head, rest, _ := strings.Cut(good, ".")
	body, signature, _ := strings.Cut(rest, ".")
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	critical := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "1", "authenticated": true, "statements": []any{}})
	critical.Header["crit"] = []string{"exp"}
	criticalText, err := critical.SignedString(hmacKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"the public key as secret, PEM": sign(t, jwt.SigningMethodHS256, publicPEM, nil),
		"the public key as secret, DER": sign(t, jwt.SigningMethodHS256, public, nil),
		"another secret":                sign(t, jwt.SigningMethodHS256, hmacKey[1:], nil),
		"an empty secret":               sign(t, jwt.SigningMethodHS256, []byte{}, nil),
		"no signature":                  sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"alg none":                      encode(`{"alg":"none"}`) + "." + body + ".",
		"alg NONE":                      encode(`{"alg":"NONE"}`) + "." + body + "." + signature,
		"no alg":                        encode(`{}`) + "." + body + "." + signature,
		"alg is a number":               encode(`{"alg":1}`) + "." + body + "." + signature,
		"signature taken away":          head + "." + body + ".",
		"other algorithm":               encode(`{"alg":"RS256","typ":"JWT"}`) + "." + body + "." + signature,
		"other body":                    head + "." + encode(`{"sub":"1","authenticated":true,"statements":[],"x":1}`) + "." + signature,
		"another key of RSA":            sign(t, jwt.SigningMethodRS384, rsaKey(), nil),
		"critical header":               criticalText,
		"empty":                         "",
		"blank":                         " \t",
		"no token":                      "password",
		"two parts":                     head + "." + body,
		"four parts":                    good + ".x",
		"not base64":                    "!." + body + "." + signature,
		"not JSON":                      encode("x") + "." + body + "." + signature,
		"dots":                          "..",
	} {
		permissions, err := a.Authenticate(t.Context(), request(&token))
		if codeOf(t, err) != apierr.LoginAuthenticationFailed || permissions != nil {
			t.Errorf("%s: got %v, %v", name, permissions, err)
		}
	}
	if _, err := a.Authenticate(t.Context(), request(nil)); codeOf(t, err) != apierr.LoginAuthenticationFailed {
		t.Errorf("without token: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), request(&good)); err != nil {
		t.Errorf("a good token: %v", err)
	}
}

func TestTokenClaims(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	hmacFile := file(t, hmacKey)
	issuer := func(s *config.LoginByJWT) { s.Verification.Issuer = "issuer" }
	audience := func(s *config.LoginByJWT) { s.Verification.Audience = "chat" }
	custom := func(s *config.LoginByJWT) { s.Verification.CustomPayloadClaims = map[string]string{"tenant": "7"} }
	expected := func(s *config.LoginByJWT) {
		s.Authentication.Expectation.CustomPayloadClaims = map[string]string{"role": "user", "level": "3"}
	}
	nothing := func(*config.LoginByJWT) {}
	const failed = apierr.LoginAuthenticationFailed
	for _, test := range []struct {
		name    string
		change  func(*config.LoginByJWT)
		changes jwt.MapClaims
		want    apierr.Code
	}{
		{"good", nothing, nil, apierr.OK},
		{"no subject", nothing, jwt.MapClaims{"sub": nil}, failed},
		{"empty subject", nothing, jwt.MapClaims{"sub": ""}, failed},
		{"other subject", nothing, jwt.MapClaims{"sub": "2"}, failed},
		{"padded subject", nothing, jwt.MapClaims{"sub": "01"}, failed},
		{"number as subject", nothing, jwt.MapClaims{"sub": 1}, apierr.OK},
		{"list as subject", nothing, jwt.MapClaims{"sub": []string{"1"}}, failed},
		{"not expired", nothing, jwt.MapClaims{"exp": now.Unix() + 1}, apierr.OK},
		{"expires now", nothing, jwt.MapClaims{"exp": now.Unix()}, failed},
		{"expired", nothing, jwt.MapClaims{"exp": now.Unix() - 1}, failed},
		{"expiry is text", nothing, jwt.MapClaims{"exp": "never"}, failed},
		{"valid from now", nothing, jwt.MapClaims{"nbf": now.Unix()}, apierr.OK},
		{"not valid yet", nothing, jwt.MapClaims{"nbf": now.Unix() + 1}, failed},
		{"start is text", nothing, jwt.MapClaims{"nbf": "now"}, failed},
		{"issuer", issuer, jwt.MapClaims{"iss": "issuer"}, apierr.OK},
		{"other issuer", issuer, jwt.MapClaims{"iss": "Issuer"}, failed},
		{"no issuer", issuer, nil, failed},
		{"issuer not checked", nothing, jwt.MapClaims{"iss": "anybody"}, apierr.OK},
		{"audience", audience, jwt.MapClaims{"aud": "chat"}, apierr.OK},
		{"audience in a list", audience, jwt.MapClaims{"aud": []string{"mail", "chat"}}, apierr.OK},
		{"other audience", audience, jwt.MapClaims{"aud": []string{"mail"}}, failed},
		{"no audience", audience, nil, failed},
		{"audience not checked", nothing, jwt.MapClaims{"aud": "mail"}, apierr.OK},
		{"custom claim", custom, jwt.MapClaims{"tenant": "7"}, apierr.OK},
		{"custom claim, loosely", custom, jwt.MapClaims{"tenant": 7}, apierr.OK},
		{"other custom claim", custom, jwt.MapClaims{"tenant": 8}, failed},
		{"no custom claim", custom, nil, failed},
		{"authenticated as text", nothing, jwt.MapClaims{"authenticated": "true"}, apierr.OK},
		{"not authenticated", nothing, jwt.MapClaims{"authenticated": false}, failed},
		{"authenticated missing", nothing, jwt.MapClaims{"authenticated": nil}, failed},
		{"expected claims", expected, jwt.MapClaims{"role": "user", "level": 3, "authenticated": nil}, apierr.OK},
		{"one expected claim", expected, jwt.MapClaims{"role": "user"}, failed},
		{"no statements", nothing, jwt.MapClaims{"statements": nil}, failed},
		{"empty statements", nothing, jwt.MapClaims{"statements": []any{}}, apierr.OK},
		{"bad statements", nothing, jwt.MapClaims{"statements": []any{map[string]any{"effect": "ALLOW", "actions": "READ", "resources": "*"}}}, failed},
		{"statements are text", nothing, jwt.MapClaims{"statements": "*"}, failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := settings(func(s *config.IdentityAccessManagement) {
				s.Type = config.LoginJWT
				s.JWT.Algorithm.HMAC256.FilePath = hmacFile
				test.change(&s.JWT)
			})
			a := openWith(t, Options{Settings: func() config.IdentityAccessManagement { return s }, Clock: func() time.Time { return now }})
			_, err := a.Authenticate(t.Context(), request(new(sign(t, jwt.SigningMethodHS256, hmacKey, test.changes))))
			if got := codeOf(t, err); got != test.want {
				t.Errorf("got %v (%v), want %v", got, err, test.want)
			}
			if err != nil && apierr.From(err).Reason != failed.Text() {
				t.Errorf("the client hears %q", apierr.From(err).Reason)
			}
		})
	}
	// An id that a floating-point number cannot hold.
	s := settings(func(s *config.IdentityAccessManagement) {
		s.Type = config.LoginJWT
		s.JWT.Algorithm.HMAC256.FilePath = hmacFile
	})
	a := openWith(t, Options{Settings: func() config.IdentityAccessManagement { return s }})
	r := request(new(sign(t, jwt.SigningMethodHS256, hmacKey, jwt.MapClaims{"sub": int64(9007199254740993)})))
	for id, want := range map[int64]apierr.Code{9007199254740993: apierr.OK, 9007199254740992: failed} {
		r.UserID = id
		if _, err := a.Authenticate(t.Context(), r); codeOf(t, err) != want {
			t.Errorf("user %d: %v", id, err)
		}
	}
}
