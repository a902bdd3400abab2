// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"mime"
	"slices"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// Pictures and attachments are the matter of plugins. What no plugin could make sense of is refused before.

func errNoStorage() error { return apierr.New(apierr.StorageNotImplemented, "") }

// checkResource refuses a resource that is not named. Which types need a number is different for each request; an
// attachment that exists may also have a text for a name.
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

func (d *Dispatcher) deleteResource(_ context.Context, _ *Request, body *wire.DeleteResourceRequest) (Answer, error) {
	err := checkResource(body.GetType(), body.IdNum, body.IdStr, wire.StorageResourceType_GROUP_PROFILE_PICTURE, wire.StorageResourceType_MESSAGE_ATTACHMENT)
	if err != nil {
		return Answer{}, err
	}
	return Answer{}, errNoStorage()
}

func (d *Dispatcher) queryResourceDownloadInfo(_ context.Context, _ *Request, body *wire.QueryResourceDownloadInfoRequest) (Answer, error) {
	err := checkResource(body.GetType(), body.IdNum, body.IdStr, wire.StorageResourceType_USER_PROFILE_PICTURE,
		wire.StorageResourceType_GROUP_PROFILE_PICTURE, wire.StorageResourceType_MESSAGE_ATTACHMENT)
	if err != nil {
		return Answer{}, err
	}
	return Answer{}, errNoStorage()
}

func (d *Dispatcher) queryResourceUploadInfo(_ context.Context, _ *Request, body *wire.QueryResourceUploadInfoRequest) (Answer, error) {
	if err := checkResource(body.GetType(), body.IdNum, nil, wire.StorageResourceType_GROUP_PROFILE_PICTURE); err != nil {
		return Answer{}, err
	}
	if body.MediaType != nil {
		if t, _, err := mime.ParseMediaType(body.GetMediaType()); err != nil || !strings.Contains(t, "/") {
			return Answer{}, apierr.New(apierr.IllegalArgument, "mediaType: %q is no media type", body.GetMediaType())
		}
	}
	return Answer{}, errNoStorage()
}

func (d *Dispatcher) queryMessageAttachmentInfos(_ context.Context, _ *Request, body *wire.QueryMessageAttachmentInfosRequest) (Answer, error) {
	if start, end := body.CreationDateStart, body.CreationDateEnd; start != nil && end != nil && *start > *end {
		return Answer{}, apierr.New(apierr.IllegalArgument, "creationDateStart: %d must not be after creationDateEnd, which is %d", *start, *end)
	}
	return Answer{}, errNoStorage()
}

func (d *Dispatcher) updateMessageAttachmentInfo(_ context.Context, _ *Request, body *wire.UpdateMessageAttachmentInfoRequest) (Answer, error) {
	if body.AttachmentIdNum == nil && body.AttachmentIdStr == nil {
		return Answer{}, apierr.New(apierr.IllegalArgument, "attachmentIdNum or attachmentIdStr is required")
	}
	return Answer{}, errNoStorage()
}
