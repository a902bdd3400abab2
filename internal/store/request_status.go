// SPDX-License-Identifier: Apache-2.0

package store

import "slices"

// A RequestStatus is the status of a request from one user to another or to a group. Its value is
// the position in the enumeration known to clients.
type RequestStatus int32

// The statuses of requests.
const (
	RequestPending RequestStatus = iota
	RequestAccepted
	RequestAcceptedWithoutConfirm
	RequestDeclined
	RequestIgnored
	RequestExpired
	RequestCanceled
)

// RequestStatusNames are the names of the statuses in their order.
var RequestStatusNames = []string{"PENDING", "ACCEPTED", "ACCEPTED_WITHOUT_CONFIRM", "DECLINED", "IGNORED", "EXPIRED", "CANCELED"}

func (s RequestStatus) String() string { return enumName(RequestStatusNames, s) }

// Answered reports whether somebody has answered the request, so that it has a response date.
func (s RequestStatus) Answered() bool {
	return s == RequestAccepted || s == RequestDeclined || s == RequestIgnored
}

// enumName returns the name of a value, or "" for an invalid number.
func enumName[E ~int32](names []string, value E) string {
	if value < 0 || int(value) >= len(names) {
		return ""
	}
	return names[value]
}

// EnumOf returns the value that has a name in a list of names, and whether there is one.
func EnumOf[E ~int32](names []string, name string) (E, bool) {
	i := slices.Index(names, name)
	return E(max(i, 0)), i >= 0
}
