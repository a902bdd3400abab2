// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
)

// MessageCounts are numbers of messages. Fields that were not requested are nil.
type MessageCounts struct {
	SentMessagesOnAverage        *int64             `json:"sentMessagesOnAverage,omitempty" doc:"How many messages each sender sent in the range on average, rounded down." example:"2"`
	SentMessages                 *int64             `json:"sentMessages,omitempty" doc:"How many messages were sent in the range." example:"10"`
	SentMessagesOnAverageRecords []StatisticsRecord `json:"sentMessagesOnAverageRecords,omitzero" doc:"The same for each unit of time."`
	SentMessagesRecords          []StatisticsRecord `json:"sentMessagesRecords,omitzero" doc:"The same for each unit of time."`
}

func (s MessageCounts) empty() bool {
	return s.SentMessages == nil && s.SentMessagesOnAverage == nil && s.SentMessagesRecords == nil && s.SentMessagesOnAverageRecords == nil
}

type messageCountQuery struct {
	SentStartDate                  *admin.Date `query:"sentStartDate" doc:"Count messages sent at this date or later."`
	SentEndDate                    *admin.Date `query:"sentEndDate" doc:"Count messages sent before this date."`
	SentOnAverageStartDate         *admin.Date `query:"sentOnAverageStartDate" doc:"Average over messages sent at this date or later."`
	SentOnAverageEndDate           *admin.Date `query:"sentOnAverageEndDate" doc:"Average over messages sent before this date."`
	AcknowledgedStartDate          *admin.Date `query:"acknowledgedStartDate" doc:"Ignored: messages are not acknowledged."`
	AcknowledgedEndDate            *admin.Date `query:"acknowledgedEndDate" doc:"Ignored: messages are not acknowledged."`
	AcknowledgedOnAverageStartDate *admin.Date `query:"acknowledgedOnAverageStartDate" doc:"Ignored: messages are not acknowledged."`
	AcknowledgedOnAverageEndDate   *admin.Date `query:"acknowledgedOnAverageEndDate" doc:"Ignored: messages are not acknowledged."`
	AreGroupMessages               *bool       `query:"areGroupMessages" doc:"Whether the targets are groups."`
	AreSystemMessages              *bool       `query:"areSystemMessages" doc:"Whether they are messages of the server."`
	statisticsUnit
}

func (h messageHandlers) count(ctx context.Context, in *messageCountQuery) (admin.Optional[MessageCounts], error) {
	var none admin.Optional[MessageCounts]
	var sent, average, acknowledged, acknowledgedAverage store.DateRange
	err := dateRanges(
		namedRange{"sentDate", in.SentStartDate, in.SentEndDate, &sent},
		namedRange{"sentOnAverageDate", in.SentOnAverageStartDate, in.SentOnAverageEndDate, &average},
		namedRange{"acknowledgedDate", in.AcknowledgedStartDate, in.AcknowledgedEndDate, &acknowledged},
		namedRange{"acknowledgedOnAverageDate", in.AcknowledgedOnAverageStartDate, in.AcknowledgedOnAverageEndDate, &acknowledgedAverage},
	)
	if err != nil {
		return none, err
	}
	filter := func(r store.DateRange) store.MessageFilter {
		return store.MessageFilter{IsGroupMessage: in.AreGroupMessages, IsSystemMessage: in.AreSystemMessages, DeliveryDate: r}
	}
	var s MessageCounts
	limits := h.limits()
	s.SentMessages, s.SentMessagesRecords, err = in.statisticsUnit.count("sentDate", sent, limits, func(r store.DateRange) (int64, error) {
		return h.messages.Count(ctx, filter(r))
	})
	if err != nil {
		return none, err
	}
	s.SentMessagesOnAverage, s.SentMessagesOnAverageRecords, err = in.statisticsUnit.count("sentOnAverageDate", average, limits, func(r store.DateRange) (int64, error) {
		return h.messages.CountOnAverage(ctx, filter(r))
	})
	if err != nil {
		return none, err
	}
	if nothing := (store.DateRange{}); !in.divided() && sent == nothing && average == nothing && acknowledged == nothing && acknowledgedAverage == nothing {
		all, err := h.messages.Count(ctx, filter(nothing))
		if err != nil {
			return none, err
		}
		s.SentMessages = &all
	}
	if s.empty() {
		return none, nil
	}
	return admin.Optional[MessageCounts]{Value: &s}, nil
}

var (
	_ MessageStatistics      = (*message.Directory)(nil)
	_ GroupMessageStatistics = (*message.Directory)(nil)
)
