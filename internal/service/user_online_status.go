// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/wire"
)

// presenceHandlers answers requests about who is online, and where.
type presenceHandlers struct {
	audiences
	directory *presence.Directory
	users     userHandlers
	limits    func() presence.NearbyLimits
	clock     func() time.Time
}

func (h presenceHandlers) queryStatuses(ctx context.Context, r *Request, body *wire.QueryUserOnlineStatusesRequest) (Answer, error) {
	if len(body.GetUserIds()) == 0 {
		return noContent, nil
	}
	entries, err := h.directory.Finder().Lookup(ctx, body.GetUserIds())
	if err != nil {
		return Answer{}, err
	}
	statuses := convert(entries, func(e presence.Entry) *wire.UserOnlineStatus {
		status, devices := h.status(r, e)
		return &wire.UserOnlineStatus{UserId: e.UserID, UserStatus: status, DeviceTypes: devices}
	})
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserOnlineStatuses{
		UserOnlineStatuses: &wire.UserOnlineStatuses{Statuses: statuses},
	}}}, nil
}

// status returns the status and devices of a user as the requester sees them.
func (h presenceHandlers) status(r *Request, entry presence.Entry) (wire.UserStatus, []wire.DeviceType) {
	if entry.Status == wire.UserStatus_INVISIBLE && entry.UserID != r.UserID && h.settings().User.RespondOfflineIfInvisible {
		return wire.UserStatus_OFFLINE, nil
	}
	devices := convert(entry.Sessions, func(s presence.Session) wire.DeviceType { return s.Device })
	slices.Sort(devices)
	return entry.Status, devices
}

// updateStatus sets the status of the requester, or closes sessions if that is OFFLINE.
func (h presenceHandlers) updateStatus(ctx context.Context, r *Request, body *wire.UpdateUserOnlineStatusRequest) (Answer, error) {
	status := body.GetUserStatus()
	if _, known := wire.UserStatus_name[int32(status)]; !known {
		return Answer{}, apierr.New(apierr.IllegalArgument, "userStatus: %d is no status", status)
	}
	for _, device := range body.GetDeviceTypes() {
		if _, known := wire.DeviceType_name[int32(device)]; !known {
			return Answer{}, apierr.New(apierr.IllegalArgument, "deviceTypes: %d is no type of device", device)
		}
	}
	if status == wire.UserStatus_OFFLINE {
		_, err := h.directory.Disconnect(ctx, link.Disconnection{UserIDs: []int64{r.UserID}, Devices: body.GetDeviceTypes(), Status: wire.ClosedByOtherDevice})
		if err != nil {
			return Answer{}, err
		}
	} else if online, err := h.directory.SetStatus(ctx, r.UserID, status); err != nil || !online {
		return Answer{}, err
	}
	return Answer{Notifications: h.notifications(ctx, r, status)}, nil
}

// notifications returns the notifications of a status for the requester's other sessions, related
// users and members of the same groups. Users who would not see an invisible user as online are not
// notified of that either.
func (h presenceHandlers) notifications(ctx context.Context, r *Request, status wire.UserStatus) []Notification {
	settings := h.settings()
	flags := settings.Notification.UserOnlineStatusUpdated
	related, members := flags.NotifyNonBlockedRelatedUsers, settings.Notification.GroupMemberOnlineStatusUpdated.NotifyGroupMembers
	others := distinct(both(onlyIf(related, h.knownBy(ctx, r.UserID)), onlyIf(members, h.coMembers(ctx, r.UserID))))
	relay := r.AppRequest
	if status == wire.UserStatus_INVISIBLE && settings.User.RespondOfflineIfInvisible {
		relay = proto.CloneOf(relay)
		relay.GetUpdateUserOnlineStatusRequest().UserStatus = wire.UserStatus_OFFLINE
	}
	return []Notification{
		{Self: flags.NotifyRequesterOtherOnlineSessions},
		{Relay: relay, To: onlyIf(related || members, others), Transient: true},
	}
}
