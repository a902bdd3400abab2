// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// groupQuestionHandlers answers requests about the questions of groups.
type groupQuestionHandlers struct {
	audiences
	questions *group.Questions
}

func (h groupQuestionHandlers) create(ctx context.Context, r *Request, body *wire.CreateGroupJoinQuestionsRequest) (Answer, error) {
	questions := convert(body.GetQuestions(), func(q *wire.GroupJoinQuestion) store.GroupQuestion {
		return store.GroupQuestion{Question: q.GetQuestion(), Answers: q.GetAnswers(), Score: q.GetScore()}
	})
	created, err := h.questions.CreateBy(ctx, r.UserID, body.GetGroupId(), questions, r.once)
	if err != nil {
		return Answer{}, err
	}
	return questionIDs(created), nil
}

// questionIDs returns the answer with the ids of new questions.
func questionIDs(ids []int64) Answer { return Answer{Data: wireLongs(ids, nil)} }

func (h groupQuestionHandlers) update(ctx context.Context, r *Request, body *wire.UpdateGroupJoinQuestionRequest) (Answer, error) {
	c := store.GroupQuestionChange{Question: body.Question, Score: body.Score}
	if answers := body.GetAnswers(); len(answers) > 0 {
		c.Answers = &answers
	}
	return Answer{}, h.questions.UpdateBy(ctx, r.UserID, body.GetQuestionId(), c)
}

func (h groupQuestionHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteGroupJoinQuestionsRequest) (Answer, error) {
	return Answer{}, h.questions.DeleteBy(ctx, r.UserID, body.GetGroupId(), body.GetQuestionIds())
}

func (h groupQuestionHandlers) query(ctx context.Context, r *Request, body *wire.QueryGroupJoinQuestionsRequest) (Answer, error) {
	found, version, err := h.questions.List(ctx, r.UserID, body.GetGroupId(), body.GetWithAnswers(), date(body.LastUpdatedDate))
	return listed(found, version, err, func(list []store.GroupQuestion, version *int64) *wire.AppNotification_Data {
		questions := convert(list, func(q store.GroupQuestion) *wire.GroupJoinQuestion {
			out := &wire.GroupJoinQuestion{Id: &q.ID, GroupId: &q.GroupID, Question: &q.Question}
			if body.GetWithAnswers() {
				out.Answers, out.Score = q.Answers, &q.Score
			}
			return out
		})
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupJoinQuestionsWithVersion{
			GroupJoinQuestionsWithVersion: &wire.GroupJoinQuestionsWithVersion{GroupJoinQuestions: questions, LastUpdatedDate: version},
		}}
	})
}

func (h groupQuestionHandlers) checkAnswers(ctx context.Context, r *Request, body *wire.CheckGroupJoinQuestionsAnswersRequest) (Answer, error) {
	result, err := h.questions.Answer(ctx, r.UserID, body.GetQuestionIdToAnswer())
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupJoinQuestionAnswerResult{
		GroupJoinQuestionAnswerResult: &wire.GroupJoinQuestionsAnswerResult{Score: result.Score, QuestionIds: result.Right, Joined: result.Joined},
	}}}
	if result.Joined {
		a.Notifications = []Notification{h.joined(ctx, r, result.GroupID, r.UserID)}
	}
	return a, nil
}
