// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/url"
	"strings"

	"example.org/app/internal/config/property"
)

// A LoginMechanism is a way to authenticate clients.
type LoginMechanism string

// The mechanisms.
const (
	LoginNoop     LoginMechanism = "NOOP"
	LoginHTTP     LoginMechanism = "HTTP"
	LoginJWT      LoginMechanism = "JWT"
	LoginPassword LoginMechanism = "PASSWORD"
	LoginLDAP     LoginMechanism = "LDAP"
)

// IdentityAccessManagement configures the authentication and the permissions of clients.
type IdentityAccessManagement struct {
	Enabled bool           `default:"true" mutable:"true" global:"true" doc:"Whether clients must authenticate; false accepts every user id and allows every request."`
	Type    LoginMechanism `default:"PASSWORD" enum:"NOOP,HTTP,JWT,PASSWORD,LDAP" doc:"The authentication mechanism: none, an HTTP server, a signed token, the password of the user, or the password in a directory (LDAP)."`
	JWT     LoginByJWT     `doc:"Authentication by a signed token, which the client sends as its password."`
	HTTP    LoginByHTTP    `doc:"Authentication by an HTTP server."`
	LDAP    LoginByLDAP    `doc:"Authentication by the password in a directory (LDAP)."`
}

// Validate checks the properties that the selected mechanism requires.
func (i IdentityAccessManagement) Validate() error {
	switch i.Type {
	case LoginJWT:
		if !i.JWT.Algorithm.any() {
			return property.Violation("jwt.algorithm", "must have at least one key when the type is JWT")
		}
	case LoginHTTP:
		u, err := url.Parse(i.HTTP.Request.URL.Reveal())
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return property.Violation("http.request.url", "must be an absolute http or https address when the type is HTTP")
		}
		if i.HTTP.Request.HTTPMethod == "HEAD" {
			return property.Violation("http.request.http-method", "must not be HEAD when the type is HTTP, because the answer must have a body")
		}
	}
	return nil
}

// LoginByJWT defines which tokens are accepted.
type LoginByJWT struct {
	Authentication JWTAuthentication `doc:"The claims that a token must have for a login."`
	Verification   JWTVerification   `doc:"The claims that a token must have to be considered."`
	Algorithm      JWTAlgorithms     `doc:"The keys; an algorithm without a key is not accepted."`
}

// JWTAuthentication defines which tokens allow a login.
type JWTAuthentication struct {
	Expectation JWTExpectation `doc:"The expected claims."`
}

// JWTExpectation holds the expected claims.
type JWTExpectation struct {
	CustomPayloadClaims map[string]string `default:"authenticated=true" minlen:"1" doc:"Claims and the values that they must have; true is equal to \"true\"."`
}

// JWTVerification defines which tokens are valid.
type JWTVerification struct {
	Issuer              string            `doc:"The issuer (iss) of the tokens; empty means that it is not checked."`
	Audience            string            `doc:"The audience (aud) of the tokens; empty means that it is not checked."`
	CustomPayloadClaims map[string]string `doc:"Claims and the values that they must have in addition to the expected ones."`
}

// JWTAlgorithms holds the key of each algorithm.
type JWTAlgorithms struct {
	RSA256   JWTPublicKey `doc:"RS256: RSA with PKCS #1 v1.5 and SHA-256."`
	RSA384   JWTPublicKey `doc:"RS384: RSA with PKCS #1 v1.5 and SHA-384."`
	RSA512   JWTPublicKey `doc:"RS512: RSA with PKCS #1 v1.5 and SHA-512."`
	PS256    JWTPublicKey `doc:"PS256: RSA with PSS and SHA-256."`
	PS384    JWTPublicKey `doc:"PS384: RSA with PSS and SHA-384."`
	PS512    JWTPublicKey `doc:"PS512: RSA with PSS and SHA-512."`
	ECDSA256 JWTPublicKey `doc:"ES256: ECDSA on the curve P-256 with SHA-256."`
	ECDSA384 JWTPublicKey `doc:"ES384: ECDSA on the curve P-384 with SHA-384."`
	ECDSA512 JWTPublicKey `doc:"ES512: ECDSA on the curve P-521 with SHA-512."`
	HMAC256  JWTSecretKey `doc:"HS256: HMAC with SHA-256."`
	HMAC384  JWTSecretKey `doc:"HS384: HMAC with SHA-384."`
	HMAC512  JWTSecretKey `doc:"HS512: HMAC with SHA-512."`
}

// Public returns the public keys by the name of their property.
func (a JWTAlgorithms) Public() map[string]JWTPublicKey {
	return map[string]JWTPublicKey{
		"rsa256": a.RSA256, "rsa384": a.RSA384, "rsa512": a.RSA512,
		"ps256": a.PS256, "ps384": a.PS384, "ps512": a.PS512,
		"ecdsa256": a.ECDSA256, "ecdsa384": a.ECDSA384, "ecdsa512": a.ECDSA512,
	}
}

// Secret returns the secret keys by the name of their property.
func (a JWTAlgorithms) Secret() map[string]JWTSecretKey {
	return map[string]JWTSecretKey{"hmac256": a.HMAC256, "hmac384": a.HMAC384, "hmac512": a.HMAC512}
}

func (a JWTAlgorithms) any() bool {
	for _, k := range a.Public() {
		if k.PEMFilePath != "" || k.P12.FilePath != "" {
			return true
		}
	}
	for _, k := range a.Secret() {
		if k.FilePath != "" || k.P12.FilePath != "" {
			return true
		}
	}
	return false
}

// bothKeysRule is the rule that two sources of one key break.
const bothKeysRule = "must be empty when there is another file for the same key"

// JWTPublicKey locates the key that verifies signatures.
type JWTPublicKey struct {
	PEMFilePath string `path:"true" doc:"The PEM file with the public key or a certificate of it."`
	P12         P12    `doc:"The PKCS #12 file with the key, instead of a PEM file."`
}

// Validate checks that there is at most one key.
func (k JWTPublicKey) Validate() error {
	if k.PEMFilePath != "" && k.P12.FilePath != "" {
		return property.Violation("p12.file-path", bothKeysRule)
	}
	return nil
}

// JWTSecretKey locates the key that signs and verifies.
type JWTSecretKey struct {
	FilePath string `path:"true" doc:"The file whose bytes are the key."`
	P12      P12    `doc:"The PKCS #12 file with the key, instead of a plain file."`
}

// Validate checks that there is at most one key.
func (k JWTSecretKey) Validate() error {
	if k.FilePath != "" && k.P12.FilePath != "" {
		return property.Violation("p12.file-path", bothKeysRule)
	}
	return nil
}

// P12 locates a key in a PKCS #12 file.
type P12 struct {
	FilePath string          `path:"true" doc:"The PKCS #12 file."`
	Password property.Secret `doc:"The password of the file."`
	KeyAlias string          `doc:"The name of the key in the file; empty means that there is only one."`
}

// LoginByHTTP defines the server to call, and the expected response.
type LoginByHTTP struct {
	Request        HTTPLoginRequest        `doc:"How the server is asked."`
	Authentication HTTPLoginAuthentication `doc:"The expected response."`
}

// HTTPLoginRequest configures the request.
type HTTPLoginRequest struct {
	URL           property.URL               `doc:"The URL to which the login is sent as JSON."`
	Headers       map[string]property.Secret `doc:"Header fields to send with it."`
	HTTPMethod    string                     `default:"GET" enum:"POST,GET,PUT,PATCH,DELETE,HEAD" doc:"The method of the request."`
	TimeoutMillis int32                      `default:"30000" min:"1" doc:"The time limit of the request."`
}

// HTTPLoginAuthentication contains the expectations for the response.
type HTTPLoginAuthentication struct {
	ResponseExpectation HTTPLoginExpectation `doc:"The response that accepts a login."`
}

// HTTPLoginExpectation is the response that allows a login.
type HTTPLoginExpectation struct {
	StatusCodes []string          `default:"2??" minlen:"1" doc:"Patterns of which the status must match one: ? is any digit, * any number of them."`
	Headers     map[string]string `doc:"Header fields and the values that they must have."`
	BodyFields  map[string]string `default:"authenticated=true" doc:"Fields of the body, a JSON object, and the values that they must have; true is equal to \"true\"."`
}

// Validate checks the patterns.
func (e HTTPLoginExpectation) Validate() error {
	for i, pattern := range e.StatusCodes {
		if pattern == "" || strings.Trim(pattern, "0123456789?*") != "" {
			return property.Violation(fmt.Sprintf("status-codes[%d]", i), "must be of digits, ? and *")
		}
	}
	return nil
}

// LoginByLDAP configures the directory.
type LoginByLDAP struct {
	BaseDN         string    `doc:"The entry below which users are searched."`
	Admin          LDAPAdmin `doc:"The connection for searching users."`
	User           LDAPUser  `doc:"The connection for verifying passwords of users."`
	TimeoutMillis  int32     `default:"10000" min:"1" doc:"The time limit for connecting and for each request."`
	MaxConnections int32     `default:"8" min:"1" max:"1024" doc:"The number of connections for searching, and for verifying passwords."`
}

// LDAPAdmin is the connection that searches users.
type LDAPAdmin struct {
	Host     string          `default:"localhost" required:"true" doc:"The host of the directory."`
	Port     int32           `default:"389" min:"1" max:"65535" doc:"The port of the directory."`
	Username string          `doc:"The name (DN) to log in with; empty means anonymously."`
	Password property.Secret `doc:"The password to log in with."`
	SSL      ClientSSL       `hidden:"true" doc:"Encryption of the connection."`
}

// Validate checks that the name has a password: a directory treats a name without password as
// anonymous.
func (l LDAPAdmin) Validate() error {
	if l.Username != "" && l.Password == "" {
		return property.Violation("password", "must not be empty when there is a username")
	}
	return nil
}

// LDAPUser is the connection that verifies users' passwords.
type LDAPUser struct {
	Host         string    `default:"localhost" required:"true" doc:"The host of the directory."`
	Port         int32     `default:"389" min:"1" max:"65535" doc:"The port of the directory."`
	SSL          ClientSSL `hidden:"true" doc:"Encryption of the connection."`
	SearchFilter string    `default:"uid=${userId}" doc:"The filter that finds the entry of a user; ${userId} stands for the user's id."`
}

// LDAPUserID is the placeholder of a user's id in a search filter.
const LDAPUserID = "${userId}"

// Validate checks that the filter contains the user.
func (l LDAPUser) Validate() error {
	if !strings.Contains(l.SearchFilter, LDAPUserID) {
		return property.Violation("search-filter", "must contain "+LDAPUserID)
	}
	return nil
}

// ClientSSL is the encryption of connections to another server.
type ClientSSL struct {
	Enabled         bool   `default:"false" doc:"Whether the connection is encrypted."`
	CAFile          string `path:"true" doc:"The PEM file with the CA certificates for verifying the server; empty means those of the system."`
	CertificateFile string `path:"true" doc:"The PEM file with the client certificate chain; empty means none."`
	PrivateKeyFile  string `path:"true" doc:"The PEM file with the private key of the certificate."`
}

// Validate checks that a certificate has its key.
func (s ClientSSL) Validate() error {
	switch {
	case s.CertificateFile != "" && s.PrivateKeyFile == "":
		return property.Violation("private-key-file", "must not be empty when there is a certificate-file")
	case s.CertificateFile == "" && s.PrivateKeyFile != "":
		return property.Violation("certificate-file", "must not be empty when there is a private-key-file")
	}
	return nil
}
