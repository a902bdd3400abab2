// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupQuestionTag = "GroupQuestionController"

type groupQuestionHandlers struct{ questions *group.Questions }

func groupQuestionOperations(questions *group.Questions) []*admin.Operation {
	h := groupQuestionHandlers{questions}
	const path = "/groups/questions"
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "createGroupQuestion", Method: http.MethodPost, Path: path, Tag: groupQuestionTag, Permission: permission.GroupQuestionCreate,
			Summary: "Create a question of a group", Description: "Creates a question that a group asks of those who want to join. Any of the answers is right.",
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "queryGroupQuestions", Method: http.MethodGet, Path: path, Tag: groupQuestionTag, Permission: permission.GroupQuestionQuery,
			Summary: "Query questions of groups", Description: "Returns questions with their answers in the order of their ids.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "queryGroupQuestionPage", Method: http.MethodGet, Path: path + "/page", Tag: groupQuestionTag, Permission: permission.GroupQuestionQuery,
			Summary: "Query questions of groups by page", Description: "Returns a page of questions and how many match." + boundedTotal,
		}, h.queryPage),
		admin.Handle(admin.Operation{
			ID: "updateGroupQuestions", Method: http.MethodPut, Path: path, Tag: groupQuestionTag, Permission: permission.GroupQuestionUpdate,
			Summary: "Update questions of groups", Description: "Changes questions. New answers replace all that there were.",
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deleteGroupQuestions", Method: http.MethodDelete, Path: path, Tag: groupQuestionTag, Permission: permission.GroupQuestionDelete,
			Summary: "Delete questions of groups", Description: "Deletes questions.",
		}, h.delete),
	}
}

// GroupQuestion is a question of a group as the interface returns it.
type GroupQuestion struct {
	ID       int64    `json:"id" doc:"Id." example:"1234567890123456789"`
	GroupID  int64    `json:"groupId" doc:"Id of the group." example:"1"`
	Question string   `json:"question" doc:"What is asked." example:"Who moves first?"`
	Answers  []string `json:"answers" doc:"Right answers." example:"[\"White\"]"`
	Score    int32    `json:"score" doc:"What a right answer is worth." example:"10"`
}

func newGroupQuestion(q store.GroupQuestion) GroupQuestion {
	return GroupQuestion{q.ID, q.GroupID, q.Question, q.Answers, q.Score}
}

// groupQuestionCreation is the body of POST /groups/questions.
type groupQuestionCreation struct {
	GroupID  int64    `json:"groupId" doc:"Id of the group, which need not exist." example:"1"`
	Question string   `json:"question" doc:"What is asked." example:"Who moves first?"`
	Answers  []string `json:"answers" uniqueItems:"true" minItems:"1" doc:"Right answers." example:"[\"White\"]"`
	Score    int32    `json:"score" minimum:"0" doc:"What a right answer is worth." example:"10"`
}

type groupQuestionCreationInput struct{ Body groupQuestionCreation }

func (h groupQuestionHandlers) create(ctx context.Context, in *groupQuestionCreationInput) (GroupQuestion, error) {
	b := in.Body
	q, err := h.questions.Create(ctx, store.GroupQuestion{GroupID: b.GroupID, Question: b.Question, Answers: b.Answers, Score: b.Score})
	return newGroupQuestion(q), err
}

type groupQuestionFilter struct {
	IDs      []int64 `query:"ids" uniqueItems:"true" doc:"Ids of questions." example:"[1]"`
	GroupIDs []int64 `query:"groupIds" uniqueItems:"true" doc:"Ids of groups." example:"[1]"`
}

type groupQuestionQuery struct {
	groupQuestionFilter
	admin.Paging
}

type groupQuestionPageQuery struct {
	groupQuestionFilter
	admin.PageRequest
}

func (h groupQuestionHandlers) query(ctx context.Context, in *groupQuestionQuery) ([]GroupQuestion, error) {
	found, err := h.questions.Find(ctx, store.GroupQuestionFilter(in.groupQuestionFilter), in.Limit(), 0)
	return convert(found, newGroupQuestion), err
}

func (h groupQuestionHandlers) queryPage(ctx context.Context, in *groupQuestionPageQuery) (admin.Page[GroupQuestion], error) {
	return newPage(in.PageRequest, newGroupQuestion, func(page store.Page) (int64, []store.GroupQuestion, error) {
		return h.questions.FindPage(ctx, store.GroupQuestionFilter(in.groupQuestionFilter), page)
	})
}

// groupQuestionUpdate is the body of PUT /groups/questions.
type groupQuestionUpdate struct {
	GroupID  *int64    `json:"groupId,omitempty" doc:"Id of the group that asks from now on." example:"1"`
	Question *string   `json:"question,omitempty" doc:"What is asked." example:"Who moves first?"`
	Answers  *[]string `json:"answers,omitempty" uniqueItems:"true" minItems:"1" doc:"Right answers." example:"[\"White\"]"`
	Score    *int32    `json:"score,omitempty" minimum:"0" doc:"What a right answer is worth." example:"10"`
}

type groupQuestionUpdateInput struct {
	IDs  []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of questions." example:"[1]"`
	Body groupQuestionUpdate
}

func (h groupQuestionHandlers) update(ctx context.Context, in *groupQuestionUpdateInput) (admin.UpdateResult, error) {
	r, err := h.questions.Update(ctx, in.IDs, store.GroupQuestionChange(in.Body))
	return newUpdateResult(r), err
}

type groupQuestionDeletion struct {
	IDs []int64 `query:"ids" uniqueItems:"true" selector:"true" doc:"Ids of questions; absent: all questions, if the settings allow that." example:"[1]"`
}

func (h groupQuestionHandlers) delete(ctx context.Context, in *groupQuestionDeletion) (admin.DeleteResult, error) {
	if len(in.IDs) == 0 {
		return deleteResult(h.questions.DeleteAll(ctx))
	}
	return deleteResult(h.questions.Delete(ctx, in.IDs))
}
