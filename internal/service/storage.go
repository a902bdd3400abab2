// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"maps"
	"mime"
	"slices"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// storageHandlers calls plugins for requests about pictures and attachments. Invalid requests are
// refused before.
type storageHandlers struct{ plugins *plugin.Calls }

// info asks the storage plugin how to transfer a file.
func (h storageHandlers) info(ctx context.Context, m *plugin.Method, args ...any) (Answer, error) {
	if !has(h.plugins, m) {
		return Answer{}, h.noStorage(m)
	}
	info, ok, err := plugin.Ask[map[string]string](forRequester(ctx, args), h.plugins, m, args...)
	if err != nil || !ok {
		return noContent, err
	}
	list := make([]string, 0, 2*len(info))
	for _, key := range slices.Sorted(maps.Keys(info)) {
		list = append(list, key, info[key])
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_StringsWithVersion{
		StringsWithVersion: &wire.StringsWithVersion{Strings: list},
	}}}, nil
}

// noStorage returns the error for a missing storage plugin, or for a function that it lacks.
func (h storageHandlers) noStorage(m *plugin.Method) error {
	if h.plugins == nil || !h.plugins.HasAny(plugin.StorageServiceProvider) {
		return apierr.New(apierr.StorageNotImplemented, "")
	}
	return apierr.New(apierr.StorageNotImplemented, "the plugin that stores files has no function %s", m.Name)
}

// run calls a function of the storage plugin without result.
func (h storageHandlers) run(ctx context.Context, m *plugin.Method, args ...any) (Answer, error) {
	if !has(h.plugins, m) {
		return Answer{}, h.noStorage(m)
	}
	_, err := h.plugins.Run(forRequester(ctx, args), m, args...)
	return Answer{}, err
}

// list asks the storage plugin for its files.
func (h storageHandlers) list(ctx context.Context, m *plugin.Method, args ...any) (Answer, error) {
	if !has(h.plugins, m) {
		return Answer{}, h.noStorage(m)
	}
	infos, ok, err := plugin.Ask[[]plugin.StorageResourceInfo](forRequester(ctx, args), h.plugins, m, args...)
	if err != nil || !ok {
		return noContent, err
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_StorageResourceInfos{
		StorageResourceInfos: &wire.StorageResourceInfos{Infos: convert(infos, func(i plugin.StorageResourceInfo) *wire.StorageResourceInfo {
			return &wire.StorageResourceInfo{
				IdNum: i.IDNum, IdStr: i.IDStr, Name: &i.Name, MediaType: &i.MediaType, UploaderId: i.UploaderID, CreationDate: i.CreationDate.UnixMilli(),
			}
		})},
	}}}, nil
}

// checkResource returns an error unless the resource is identified. Which types need a number
// depends on the request; an existing attachment may have a text as name.
func checkResource(typ wire.StorageResourceType, number *int64, name *string, needNumber ...wire.StorageResourceType) error {
	if _, known := wire.StorageResourceType_name[int32(typ)]; !known {
		return apierr.New(apierr.IllegalArgument, "type: %d is no type of resource", typ)
	}
	named := number != nil || typ == wire.StorageResourceType_MESSAGE_ATTACHMENT && name != nil
	if slices.Contains(needNumber, typ) && !named {
		return apierr.New(apierr.IllegalArgument, "idNum is required for a resource of the type %s", typ)
	}
	return nil
}

func (h storageHandlers) deleteResource(ctx context.Context, r *Request, body *wire.DeleteResourceRequest) (Answer, error) {
	err := checkResource(body.GetType(), body.IdNum, body.IdStr, wire.StorageResourceType_GROUP_PROFILE_PICTURE, wire.StorageResourceType_MESSAGE_ATTACHMENT)
	if err != nil {
		return Answer{}, err
	}
	custom := body.GetCustomAttributes()
	switch body.GetType() {
	case wire.StorageResourceType_USER_PROFILE_PICTURE:
		return h.run(ctx, plugin.DeleteUserProfilePicture, r.UserID, custom)
	case wire.StorageResourceType_GROUP_PROFILE_PICTURE:
		return h.run(ctx, plugin.DeleteGroupProfilePicture, r.UserID, body.GetIdNum(), custom)
	}
	return h.run(ctx, plugin.DeleteMessageAttachment, r.UserID, body.IdNum, body.IdStr, custom)
}

func (h storageHandlers) queryResourceDownloadInfo(ctx context.Context, r *Request, body *wire.QueryResourceDownloadInfoRequest) (Answer, error) {
	err := checkResource(body.GetType(), body.IdNum, body.IdStr, wire.StorageResourceType_USER_PROFILE_PICTURE,
		wire.StorageResourceType_GROUP_PROFILE_PICTURE, wire.StorageResourceType_MESSAGE_ATTACHMENT)
	if err != nil {
		return Answer{}, err
	}
	custom := body.GetCustomAttributes()
	switch body.GetType() {
	case wire.StorageResourceType_USER_PROFILE_PICTURE:
		return h.info(ctx, plugin.QueryUserProfilePictureDownloadInfo, r.UserID, body.GetIdNum(), custom)
	case wire.StorageResourceType_GROUP_PROFILE_PICTURE:
		return h.info(ctx, plugin.QueryGroupProfilePictureDownloadInfo, r.UserID, body.GetIdNum(), custom)
	}
	return h.info(ctx, plugin.QueryMessageAttachmentDownloadInfo, r.UserID, body.IdNum, body.IdStr, custom)
}

func (h storageHandlers) queryResourceUploadInfo(ctx context.Context, r *Request, body *wire.QueryResourceUploadInfoRequest) (Answer, error) {
	if err := checkResource(body.GetType(), body.IdNum, nil, wire.StorageResourceType_GROUP_PROFILE_PICTURE); err != nil {
		return Answer{}, err
	}
	if body.MediaType != nil {
		if t, _, err := mime.ParseMediaType(body.GetMediaType()); err != nil || !strings.Contains(t, "/") {
			return Answer{}, apierr.New(apierr.IllegalArgument, "mediaType: %q is no media type", body.GetMediaType())
		}
	}
	custom := body.GetCustomAttributes()
	switch typ, id := body.GetType(), body.GetIdNum(); {
	case typ == wire.StorageResourceType_USER_PROFILE_PICTURE:
		return h.info(ctx, plugin.QueryUserProfilePictureUploadInfo, r.UserID, body.Name, body.MediaType, custom)
	case typ == wire.StorageResourceType_GROUP_PROFILE_PICTURE:
		return h.info(ctx, plugin.QueryGroupProfilePictureUploadInfo, r.UserID, id, body.Name, body.MediaType, custom)
	case body.IdNum == nil:
		return h.info(ctx, plugin.QueryMessageAttachmentUploadInfo, r.UserID, body.Name, body.MediaType, custom)
	case id < 0: // A negative id is a group.
		return h.info(ctx, plugin.QueryMessageAttachmentUploadInfoInGroupConversation, r.UserID, -id, body.Name, body.MediaType, custom)
	default:
		return h.info(ctx, plugin.QueryMessageAttachmentUploadInfoInPrivateConversation, r.UserID, id, body.Name, body.MediaType, custom)
	}
}

func (h storageHandlers) queryMessageAttachmentInfos(ctx context.Context, r *Request, body *wire.QueryMessageAttachmentInfosRequest) (Answer, error) {
	if start, end := body.CreationDateStart, body.CreationDateEnd; start != nil && end != nil && *start > *end {
		return Answer{}, apierr.New(apierr.IllegalArgument, "creationDateStart: %d must not be after creationDateEnd, which is %d", *start, *end)
	}
	var dates *plugin.DateRange
	if body.CreationDateStart != nil || body.CreationDateEnd != nil {
		dates = &plugin.DateRange{Start: date(body.CreationDateStart), End: date(body.CreationDateEnd)}
	}
	groups, others, shared := body.GetGroupIds(), body.GetUserIds(), body.AreSharedByMe
	switch private := body.InPrivateConversation; {
	case private != nil && *private:
		return h.list(ctx, plugin.QueryMessageAttachmentInfosInPrivateConversations, r.UserID, []int64(nil), dates, shared)
	case private != nil || len(groups) > 0:
		return h.list(ctx, plugin.QueryMessageAttachmentInfosInGroupConversations, r.UserID, groups, others, dates)
	case len(others) > 0:
		return h.list(ctx, plugin.QueryMessageAttachmentInfosInPrivateConversations, r.UserID, others, dates, shared)
	default:
		return h.list(ctx, plugin.QueryMessageAttachmentInfosUploadedByRequester, r.UserID, dates)
	}
}

func (h storageHandlers) updateMessageAttachmentInfo(ctx context.Context, r *Request, body *wire.UpdateMessageAttachmentInfoRequest) (Answer, error) {
	if body.AttachmentIdNum == nil && body.AttachmentIdStr == nil {
		return Answer{}, apierr.New(apierr.IllegalArgument, "attachmentIdNum or attachmentIdStr is required")
	}
	for _, change := range []struct {
		with *int64
		do   *plugin.Method
	}{
		{body.UserIdToShareWith, plugin.ShareMessageAttachmentWithUser},
		{body.GroupIdToShareWith, plugin.ShareMessageAttachmentWithGroup},
		{body.UserIdToUnshareWith, plugin.UnshareMessageAttachmentWithUser},
		{body.GroupIdToUnshareWith, plugin.UnshareMessageAttachmentWithGroup},
	} {
		if change.with != nil {
			return h.run(ctx, change.do, r.UserID, body.AttachmentIdNum, body.AttachmentIdStr, *change.with)
		}
	}
	if h.plugins == nil || !h.plugins.HasAny(plugin.StorageServiceProvider) {
		return Answer{}, apierr.New(apierr.StorageNotImplemented, "")
	}
	return Answer{}, nil
}
