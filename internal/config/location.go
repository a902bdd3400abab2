// SPDX-License-Identifier: Apache-2.0

package config

// Location configures the positions of clients.
type Location struct {
	Enabled                              bool              `default:"true" doc:"Whether the locations of users are stored while they are online. All nodes must have the same value."`
	TreatUserIDAndDeviceTypeAsUniqueUser bool              `default:"false" doc:"Whether each device of a user has its own location; otherwise the latest location is that of the user. All nodes must have the same value."`
	NearbyUserRequest                    NearbyUserRequest `mutable:"true" global:"true" doc:"The limits of a search for nearby users."`
}

// NearbyUserRequest limits a search for users nearby.
type NearbyUserRequest struct {
	DefaultMaxNearbyUserCount int16 `default:"20" min:"0" doc:"The maximum number of results if the request does not specify it."`
	MaxNearbyUserCount        int16 `default:"100" min:"0" doc:"The maximum number of results that a request can specify."`
	DefaultMaxDistanceMeters  int32 `default:"10000" min:"0" doc:"The maximum distance if the request does not specify it."`
	MaxDistanceMeters         int32 `default:"10000" min:"0" doc:"The maximum distance that a request can specify."`
}
