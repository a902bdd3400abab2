// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupQuestionTag = "GroupQuestionController"

type groupQuestionHandlers struct{ questions *group.Questions }

func groupQuestionOperations(questions *group.Questions) []*admin.Operation {
	h := groupQuestionHandlers{questions}
	r := resource.Resource{
		Path: "/groups/questions", Tag: groupQuestionTag, Name: "GroupQuestion", Records: "questions",
		Create: permission.GroupQuestionCreate, Query: permission.GroupQuestionQuery, Update: permission.GroupQuestionUpdate, Delete: permission.GroupQuestionDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a question of a group", Description: "Creates a question that a group asks of those who want to join. Any of the answers is right.",
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query questions of groups", Description: "Returns questions with their answers in the order of their ids.",
		}, groupQuestionFilter.filter, questions.Find, questions.FindPage, newGroupQuestion),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update questions of groups", Description: "Changes questions. New answers replace all that there were.",
		}, h.update),
		resource.DeleteByIDOrAll(r, admin.Operation{
			Summary: "Delete questions of groups", Description: "Deletes questions.",
		}, questions.Delete, questions.DeleteAll),
	)
}

// GroupQuestion is a question of a group as the interface returns it.
type GroupQuestion struct {
	ID       int64    `json:"id" doc:"Id." example:"1234567890123456789"`
	GroupID  int64    `json:"groupId" doc:"Id of the group." example:"1"`
	Question string   `json:"question" doc:"Question." example:"Who moves first?"`
	Answers  []string `json:"answers" doc:"Correct answers." example:"[\"White\"]"`
	Score    int32    `json:"score" doc:"Points for a correct answer." example:"10"`
}

func newGroupQuestion(q store.GroupQuestion) GroupQuestion {
	return GroupQuestion{q.ID, q.GroupID, q.Question, q.Answers, q.Score}
}

// groupQuestionCreation is the body of POST /groups/questions.
type groupQuestionCreation struct {
	GroupID  int64    `json:"groupId" doc:"Id of the group, which need not exist." example:"1"`
	Question string   `json:"question" doc:"Question." example:"Who moves first?"`
	Answers  []string `json:"answers" uniqueItems:"true" minItems:"1" doc:"Correct answers." example:"[\"White\"]"`
	Score    int32    `json:"score" minimum:"0" doc:"Points for a correct answer." example:"10"`
}

func (h groupQuestionHandlers) create(ctx context.Context, b groupQuestionCreation) (GroupQuestion, error) {
	q, err := h.questions.Create(ctx, store.GroupQuestion{GroupID: b.GroupID, Question: b.Question, Answers: b.Answers, Score: b.Score})
	return newGroupQuestion(q), err
}

type groupQuestionFilter struct {
	IDs      []int64 `query:"ids" uniqueItems:"true" doc:"Ids of questions." example:"[1]"`
	GroupIDs []int64 `query:"groupIds" uniqueItems:"true" doc:"Ids of groups." example:"[1]"`
}

func (f groupQuestionFilter) filter() (store.GroupQuestionFilter, error) {
	return store.GroupQuestionFilter(f), nil
}

// groupQuestionUpdate is the body of PUT /groups/questions.
type groupQuestionUpdate struct {
	GroupID  *int64    `json:"groupId,omitempty" doc:"Id of the new group of the question." example:"1"`
	Question *string   `json:"question,omitempty" doc:"Question." example:"Who moves first?"`
	Answers  *[]string `json:"answers,omitempty" uniqueItems:"true" minItems:"1" doc:"Correct answers." example:"[\"White\"]"`
	Score    *int32    `json:"score,omitempty" minimum:"0" doc:"Points for a correct answer." example:"10"`
}

func (h groupQuestionHandlers) update(ctx context.Context, ids []int64, b groupQuestionUpdate) (store.UpdateResult, error) {
	return h.questions.Update(ctx, ids, store.GroupQuestionChange(b))
}
