// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	chat "example.org/app/test/client"
)

// Login checks that a service decides who may log in.
func Login(t *testing.T, file string) {
	accounts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var info struct{ UserID, Password, DeviceType, IP string }
		if err := json.NewDecoder(r.Body).Decode(&info); err != nil || info.DeviceType == "" || info.IP == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch info.UserID + " " + info.Password {
		case "5 ticket":
		case "6 ticket":
			w.WriteHeader(http.StatusForbidden)
		case "5 broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer accounts.Close()
	s := Start(t, file, "login.url="+accounts.URL)
	c := chat.Connect(t, s.ClientURLs()[1])
	c.RefusedLogin(2011, 6, chat.WithPassword("ticket"))
	c.RefusedLogin(1201, 5, chat.WithPassword("broken"))
	c.RefusedLogin(2011, 5, chat.WithPassword("neither the service nor the server knows it"))
	c.MustLogin(5, chat.WithPassword("ticket"))
	LogIn(t, s, 6) // Checked by the server.
}
