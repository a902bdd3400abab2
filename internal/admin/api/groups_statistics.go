// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/store"
)

// GroupStatistics are numbers of groups. Fields that were not requested are nil.
type GroupStatistics struct {
	DeletedGroups                 *int64             `json:"deletedGroups,omitempty" doc:"How many groups were logically deleted in the range." example:"1"`
	GroupsThatSentMessages        *int64             `json:"groupsThatSentMessages,omitempty" doc:"How many groups got messages in the range." example:"1"`
	CreatedGroups                 *int64             `json:"createdGroups,omitempty" doc:"How many of the groups that exist were created in the range." example:"1"`
	DeletedGroupsRecords          []StatisticsRecord `json:"deletedGroupsRecords,omitzero" doc:"The same for each unit of time."`
	GroupsThatSentMessagesRecords []StatisticsRecord `json:"groupsThatSentMessagesRecords,omitzero" doc:"The same for each unit of time."`
	CreatedGroupsRecords          []StatisticsRecord `json:"createdGroupsRecords,omitzero" doc:"The same for each unit of time."`
}

type groupStatisticsQuery struct {
	CreatedStartDate     *admin.Date `query:"createdStartDate" doc:"Earliest creation date."`
	CreatedEndDate       *admin.Date `query:"createdEndDate" doc:"Date before which the groups were created."`
	DeletedStartDate     *admin.Date `query:"deletedStartDate" doc:"Earliest deletion date."`
	DeletedEndDate       *admin.Date `query:"deletedEndDate" doc:"Date before which the groups were deleted."`
	SentMessageStartDate *admin.Date `query:"sentMessageStartDate" doc:"Earliest delivery date of messages."`
	SentMessageEndDate   *admin.Date `query:"sentMessageEndDate" doc:"Date before which messages were delivered."`
	statisticsUnit
}

func (h groupHandlers) count(ctx context.Context, in *groupStatisticsQuery) (admin.Optional[GroupStatistics], error) {
	var created, deleted, sent store.DateRange
	err := dateRanges(
		namedRange{"createdDate", in.CreatedStartDate, in.CreatedEndDate, &created},
		namedRange{"deletedDate", in.DeletedStartDate, in.DeletedEndDate, &deleted},
		namedRange{"sentMessageDate", in.SentMessageStartDate, in.SentMessageEndDate, &sent},
	)
	if err != nil {
		return admin.Optional[GroupStatistics]{}, err
	}
	var s GroupStatistics
	limits, live := h.limits(), false
	counts := []struct {
		name    string
		r       store.DateRange
		total   **int64
		records *[]StatisticsRecord
		number  func(store.DateRange) (int64, error)
	}{
		{"createdDate", created, &s.CreatedGroups, &s.CreatedGroupsRecords, func(r store.DateRange) (int64, error) {
			return h.directory.Count(ctx, store.GroupFilter{Deleted: &live, CreationDate: r})
		}},
		{"deletedDate", deleted, &s.DeletedGroups, &s.DeletedGroupsRecords, func(r store.DateRange) (int64, error) {
			return h.directory.Count(ctx, store.GroupFilter{DeletionDate: r})
		}},
		{"sentMessageDate", sent, &s.GroupsThatSentMessages, &s.GroupsThatSentMessagesRecords, h.countAddressed(ctx)},
	}
	for _, c := range counts {
		if c.number == nil {
			continue
		}
		if *c.total, *c.records, err = in.statisticsUnit.count(c.name, c.r, limits, c.number); err != nil {
			return admin.Optional[GroupStatistics]{}, err
		}
	}
	if none := (store.DateRange{}); !in.divided() && created == none && deleted == none && sent == none {
		all, err := h.directory.Count(ctx, store.GroupFilter{Deleted: &live})
		if err != nil {
			return admin.Optional[GroupStatistics]{}, err
		}
		s.CreatedGroups = &all
	}
	if s.empty() {
		return admin.Optional[GroupStatistics]{}, nil
	}
	return admin.Optional[GroupStatistics]{Value: &s}, nil
}

// countAddressed returns nil without statistics of messages.
func (h groupHandlers) countAddressed(ctx context.Context) func(store.DateRange) (int64, error) {
	if h.messages == nil {
		return nil
	}
	return func(r store.DateRange) (int64, error) { return h.messages.CountAddressedGroups(ctx, r) }
}

func (s GroupStatistics) empty() bool {
	return s.CreatedGroups == nil && s.DeletedGroups == nil && s.GroupsThatSentMessages == nil &&
		s.CreatedGroupsRecords == nil && s.DeletedGroupsRecords == nil && s.GroupsThatSentMessagesRecords == nil
}
