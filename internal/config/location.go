// SPDX-License-Identifier: Apache-2.0

package config

// Location says what is done with the positions that clients tell.
type Location struct {
	Enabled                              bool              `default:"true" doc:"Whether the positions of users are kept while they are online. All nodes must agree."`
	TreatUserIDAndDeviceTypeAsUniqueUser bool              `default:"false" doc:"Whether each device of a user has a position of its own, instead of the latest one being that of the user. All nodes must agree."`
	NearbyUserRequest                    NearbyUserRequest `mutable:"true" global:"true" doc:"How far and how much a search for users nearby goes."`
}

// NearbyUserRequest bounds a search for users nearby.
type NearbyUserRequest struct {
	DefaultMaxNearbyUserCount int16 `default:"20" min:"0" doc:"How many users are found at most when the request says nothing of it."`
	MaxNearbyUserCount        int16 `default:"100" min:"0" doc:"The greatest number of users that a request may ask for."`
	DefaultMaxDistanceMeters  int32 `default:"10000" min:"0" doc:"How far away users are at most when the request says nothing of it."`
	MaxDistanceMeters         int32 `default:"10000" min:"0" doc:"The greatest distance that a request may ask for."`
}
