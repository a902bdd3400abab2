// SPDX-License-Identifier: Apache-2.0

// Package session holds the rules about which device types of a user may be online at the same
// time. It knows no connections and no nodes: gateways apply the rules.
package session

import "slices"

// A Device is a device type. The numbers are those of the client protocol.
type Device int32

// The kinds of devices.
const (
	Desktop Device = iota
	Browser
	IOS
	Android
	Others
	Unknown
)

// Devices are all kinds.
var Devices = []Device{Desktop, Browser, IOS, Android, Others, Unknown}

// A Strategy defines which device types exclude each other.
type Strategy string

// The strategies.
const (
	OneOfEach                           Strategy = "ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE"
	OneOfAll                            Strategy = "ALLOW_ONE_DEVICE_FOR_ALL_DEVICE_TYPES_ONLINE"
	OneDesktopAndOneMobile              Strategy = "ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_MOBILE_ONLINE"
	OneDesktopOrBrowserAndOneMobile     Strategy = "ALLOW_ONE_DEVICE_OF_DESKTOP_OR_BROWSER_AND_ONE_DEVICE_OF_MOBILE_ONLINE"
	OneDesktopAndOneBrowserAndOneMobile Strategy = "ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_BROWSER_AND_ONE_DEVICE_OF_MOBILE_ONLINE"
	OneDesktopOrMobile                  Strategy = "ALLOW_ONE_DEVICE_OF_DESKTOP_OR_MOBILE_ONLINE"
	OneDesktopOrBrowserOrMobile         Strategy = "ALLOW_ONE_DEVICE_OF_DESKTOP_OR_BROWSER_OR_MOBILE_ONLINE"
)

// A policy is the definition of a strategy: sets of types that exclude each other, and types that
// may not log in.
type policy struct {
	exclusive [][]Device
	forbidden []Device
}

var policies = map[Strategy]policy{
	OneOfEach:                           {},
	OneOfAll:                            {exclusive: [][]Device{Devices}},
	OneDesktopAndOneMobile:              {exclusive: [][]Device{{Android, IOS}}, forbidden: []Device{Browser}},
	OneDesktopOrBrowserAndOneMobile:     {exclusive: [][]Device{{Desktop, Browser}, {Android, IOS}}},
	OneDesktopAndOneBrowserAndOneMobile: {exclusive: [][]Device{{Android, IOS}}},
	OneDesktopOrMobile:                  {exclusive: [][]Device{{Desktop, Android, IOS}}, forbidden: []Device{Browser}},
	OneDesktopOrBrowserOrMobile:         {exclusive: [][]Device{{Desktop, Browser, Android, IOS}}},
}

// Rules define which device types may be online together.
type Rules struct {
	Strategy Strategy
	// AllowUnknown and AllowOthers allow logins of these types.
	AllowUnknown, AllowOthers bool
	// KeepOld refuses a login that conflicts with a session; otherwise the session ends.
	KeepOld bool
}

// Forbidden reports whether devices of the kind may not log in.
func (r Rules) Forbidden(d Device) bool {
	return d == Unknown && !r.AllowUnknown || d == Others && !r.AllowOthers || slices.Contains(policies[r.Strategy].forbidden, d)
}

// Conflicts returns the kinds whose sessions conflict with a login of the kind, in ascending order.
// Every kind conflicts with itself.
func (r Rules) Conflicts(d Device) []Device {
	found := []Device{d}
	for _, set := range policies[r.Strategy].exclusive {
		if slices.Contains(set, d) {
			found = append(found, set...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
