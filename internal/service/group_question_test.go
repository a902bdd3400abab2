// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func TestGroupJoinQuestions(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 9)
	id := w.groupOf(store.GroupType{JoinStrategy: store.JoinByQuestion}, 1, 2, 3)
	w.UpdateGroup(id, store.GroupChange{MinimumScore: proto.Int32(3)})
	w.appoint(id, 2, store.GroupManager)
	create := &wire.CreateGroupJoinQuestionsRequest{GroupId: id, Questions: []*wire.GroupJoinQuestion{
		{Question: proto.String("a"), Answers: []string{"x", "y"}, Score: proto.Int32(1)}, {Question: proto.String("b"), Answers: []string{"z"}, Score: proto.Int32(2)},
	}}
	created := w.want(apierr.OK, 2, create).Data.GetLongsWithVersion()
	q := created.GetLongs()
	if len(q) != 2 || q[0] >= q[1] || created.LastUpdatedDate != nil {
		t.Fatalf("the questions are %v", created)
	}
	w.want(apierr.NotGroupOwnerOrManagerToCreateGroupQuestion, 3, create)
	w.want(apierr.IllegalArgument, 1, &wire.CreateGroupJoinQuestionsRequest{GroupId: id, Questions: []*wire.GroupJoinQuestion{{Question: proto.String("a")}}})
	w.want(apierr.CreateGroupQuestionForGroupUsingInvitation, 1, &wire.CreateGroupJoinQuestionsRequest{GroupId: w.Group(1), Questions: create.GetQuestions()})

	list := w.want(apierr.OK, 9, &wire.QueryGroupJoinQuestionsRequest{GroupId: id}).Data.GetGroupJoinQuestionsWithVersion()
	want := &wire.GroupJoinQuestionsWithVersion{LastUpdatedDate: list.LastUpdatedDate, GroupJoinQuestions: []*wire.GroupJoinQuestion{
		{Id: &q[0], GroupId: &id, Question: proto.String("a")}, {Id: &q[1], GroupId: &id, Question: proto.String("b")},
	}}
	if !proto.Equal(list, want) || list.LastUpdatedDate == nil {
		t.Errorf("the questions are %v, want %v", list, want)
	}
	for i, full := range create.GetQuestions() {
		want.GroupJoinQuestions[i].Answers, want.GroupJoinQuestions[i].Score = full.GetAnswers(), full.Score
	}
	list = w.want(apierr.OK, 2, &wire.QueryGroupJoinQuestionsRequest{GroupId: id, WithAnswers: true}).Data.GetGroupJoinQuestionsWithVersion()
	if !proto.Equal(list, want) {
		t.Errorf("the questions are %v, want %v", list, want)
	}
	w.want(apierr.NotGroupOwnerOrManagerToQueryGroupQuestionAnswer, 3, &wire.QueryGroupJoinQuestionsRequest{GroupId: id, WithAnswers: true})
	w.want(apierr.AlreadyUpToDate, 9, &wire.QueryGroupJoinQuestionsRequest{GroupId: id, LastUpdatedDate: list.LastUpdatedDate})
	w.want(apierr.NoContent, 9, &wire.QueryGroupJoinQuestionsRequest{GroupId: w.Group(1)})

	check := func(code apierr.Code, user int64, answers map[int64]string, want *wire.GroupJoinQuestionsAnswerResult) {
		t.Helper()
		got := w.want(code, user, &wire.CheckGroupJoinQuestionsAnswersRequest{QuestionIdToAnswer: answers}).Data.GetGroupJoinQuestionAnswerResult()
		if !proto.Equal(got, want) {
			t.Errorf("the result is %v, want %v", got, want)
		}
	}
	w.quiet().GroupMemberAdded = config.NotifyOfJoining{NotifyAddedGroupMember: true, NotifyOtherGroupMembers: true}
	check(apierr.OK, 9, map[int64]string{q[0]: "y", q[1]: "?"}, &wire.GroupJoinQuestionsAnswerResult{Score: 1, QuestionIds: q[:1]})
	w.wantNotified(9, nil)
	check(apierr.OK, 9, map[int64]string{q[0]: "y", q[1]: "z"}, &wire.GroupJoinQuestionsAnswerResult{Score: 3, QuestionIds: q, Joined: true})
	w.wantNotified(9, memberAdded(id, 9), other(9, 1, 2, 3)...)
	w.wantMembers(id, 1, 2, 3, 9)
	check(apierr.GroupMemberAnswerGroupQuestion, 9, map[int64]string{q[0]: "y"}, nil)
	check(apierr.IllegalArgument, 9, nil, nil)
	w.quiet()
	w.want(apierr.OK, 1, &wire.CreateGroupBlockedUserRequest{GroupId: id, UserId: 9})
	check(apierr.GroupQuestionAnswererHasBeenBlocked, 9, map[int64]string{q[0]: "y"}, nil)

	w.want(apierr.OK, 3, &wire.UpdateGroupJoinQuestionRequest{QuestionId: q[0]})
	w.want(apierr.NotGroupOwnerOrManagerToUpdateGroupQuestion, 3, &wire.UpdateGroupJoinQuestionRequest{QuestionId: q[0], Score: proto.Int32(5)})
	w.want(apierr.IllegalArgument, 1, &wire.UpdateGroupJoinQuestionRequest{QuestionId: q[0], Score: proto.Int32(-5)})
	w.want(apierr.OK, 1, &wire.UpdateGroupJoinQuestionRequest{QuestionId: q[0], Question: proto.String("c"), Answers: []string{"w"}, Score: proto.Int32(5)})
	w.want(apierr.NotGroupOwnerOrManagerToDeleteGroupQuestion, 3, &wire.DeleteGroupJoinQuestionsRequest{GroupId: id, QuestionIds: q})
	w.want(apierr.OK, 1, &wire.DeleteGroupJoinQuestionsRequest{GroupId: id, QuestionIds: q[1:]})
	list = w.want(apierr.OK, 1, &wire.QueryGroupJoinQuestionsRequest{GroupId: id, WithAnswers: true}).Data.GetGroupJoinQuestionsWithVersion()
	want.GroupJoinQuestions = []*wire.GroupJoinQuestion{{Id: &q[0], GroupId: &id, Question: proto.String("c"), Answers: []string{"w"}, Score: proto.Int32(5)}}
	want.LastUpdatedDate = list.LastUpdatedDate
	if !proto.Equal(list, want) {
		t.Errorf("the questions are %v, want %v", list, want)
	}
}
