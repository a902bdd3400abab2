// SPDX-License-Identifier: Apache-2.0

package config

import "testing"

func TestPasswordLengths(t *testing.T) {
	for _, test := range []struct {
		least, most int32
		want        string
	}{
		{-1, 16, ""},
		{16, 16, ""},
		{5, 0, ""},
		{17, 16, `app.service.user.info.min-password-length = "17": must not be greater than max-password-length, which is 16`},
		{-2, 16, `app.service.user.info.min-password-length = "-2": must be at least -1`},
	} {
		c := Default()
		c.Service.User.Info.MinPasswordLength, c.Service.User.Info.MaxPasswordLength = test.least, test.most
		err := c.Validate()
		if test.want == "" && err == nil {
			continue
		}
		wantError(t, err, test.want)
	}
}
