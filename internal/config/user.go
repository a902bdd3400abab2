// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"example.org/app/internal/config/property"
)

// User holds the rules about users and what they know of each other.
type User struct {
	ActivateUserWhenAdded       bool          `default:"true" doc:"Whether a new user is active if the request does not specify it."`
	DeleteUserLogically         bool          `default:"true" doc:"Whether a deleted user is kept with a deletion date if the request does not specify it."`
	DeleteTwoSidedRelationships bool          `default:"false" doc:"Whether ending a relationship also ends the relationship in the other direction, unless the other user has blocked the user."`
	RespondOfflineIfInvisible   bool          `default:"false" doc:"Whether an invisible user appears to others as offline instead of invisible."`
	Info                        UserInfo      `doc:"The profiles of users."`
	FriendRequest               FriendRequest `doc:"Friend requests."`
	Settings                    Settings      `doc:"Settings of users for their client programs."`
}

// UserInfo holds the limits of what users say of themselves.
type UserInfo struct {
	MinPasswordLength       int32 `default:"-1" min:"-1" doc:"The minimum number of characters of a password; -1 means that users do not need a password."`
	MaxPasswordLength       int32 `default:"16" min:"0" doc:"The maximum number of characters of a password; 0 means no limit."`
	MaxNameLength           int32 `default:"20" min:"0" doc:"The maximum number of characters of a name; 0 means no limit."`
	MaxIntroLength          int32 `default:"100" min:"0" doc:"The maximum number of characters of an introduction; 0 means no limit."`
	MaxProfilePictureLength int32 `default:"100" min:"0" doc:"The maximum number of characters of the location of a profile picture; 0 means no limit."`

	UserDefinedAttributes UserDefinedAttributes `doc:"Additional attributes of users."`
}

// Validate checks that there is a length that a password may have.
func (u UserInfo) Validate() error {
	if u.MaxPasswordLength > 0 && u.MinPasswordLength > u.MaxPasswordLength {
		return property.Violation("min-password-length", fmt.Sprintf("must not be greater than max-password-length, which is %d", u.MaxPasswordLength))
	}
	return nil
}

// FriendRequest holds the rules about requests of users to become related to
// others.
type FriendRequest struct {
	MaxContentLength                                int32 `default:"200" min:"0" doc:"The maximum number of characters of a request; 0 means no limit."`
	MaxResponseReasonLength                         int32 `default:"200" min:"0" doc:"The maximum number of characters of the reason of a response; 0 means no limit."`
	FriendRequestExpireAfterSeconds                 int32 `default:"2592000" min:"0" doc:"The time for which a request can be answered; 0 means no limit."`
	AllowSendRequestAfterDeclinedOrIgnoredOrExpired bool  `default:"false" doc:"Whether a user may send another request to a user who declined, ignored or did not answer one."`
	AllowRecallPendingFriendRequestBySender         bool  `default:"false" doc:"Whether a user may recall a pending request."`
	DeleteExpiredRequestsWhenCronTriggered          bool  `default:"false" doc:"Whether the clean-up deletes expired requests."`

	ExpiredUserFriendRequestsCleanupCron string `default:"0 0 2 * * *" required:"true" mutable:"false" global:"false" doc:"The times at which expired requests are deleted: second, minute, hour, day of month, month, day of week."`
}
