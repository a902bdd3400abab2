// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestQuestionsBy(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id, other := w.cast(store.GroupType{JoinStrategy: store.JoinByQuestion}), w.cast(store.GroupType{JoinStrategy: store.JoinByQuestion})
		plain := []store.GroupQuestion{{Question: "q", Answers: []string{"a"}}}
		create := func(requester, groupID int64, questions []store.GroupQuestion, want apierr.Code) {
			w.Helper()
			_, err := w.Questions.CreateBy(ctx, requester, groupID, questions, nil)
			wantRefusal(w, fmt.Sprintf("question of %d", requester), err, want)
		}
		for strategy, code := range map[store.GroupJoinStrategy]apierr.Code{
			store.JoinByMembershipRequest: apierr.CreateGroupQuestionForGroupUsingMembershipRequest,
			store.JoinByInvitation:        apierr.CreateGroupQuestionForGroupUsingInvitation,
			store.JoinByRequest:           apierr.CreateGroupQuestionForGroupUsingJoinRequest,
		} {
			create(1, w.cast(store.GroupType{JoinStrategy: strategy}), plain, code)
		}
		create(3, id, plain, apierr.NotGroupOwnerOrManagerToCreateGroupQuestion)
		create(9, id, plain, apierr.NotGroupOwnerOrManagerToCreateGroupQuestion)
		create(1, 404, plain, apierr.NotGroupOwnerOrManagerToCreateGroupQuestion)
		many := strings.Split("a b c d e f g h i j k", " ")
		for _, bad := range []store.GroupQuestion{
			{Answers: []string{"a"}},
			{Question: "q"},
			{Question: strings.Repeat("q", 201), Answers: []string{"a"}},
			{Question: "q", Answers: []string{strings.Repeat("a", 51)}},
			{Question: "q", Answers: many},
			{Question: "q", Answers: []string{"a"}, Score: -1},
		} {
			create(1, id, append(slices.Clone(plain), bad), apierr.IllegalArgument)
		}
		create(1, id, nil, apierr.IllegalArgument)
		var questions []int64
		w.advance(time.Minute)
		w.wantBumps(id, nil, func() (err error) {
			questions, err = w.Questions.CreateBy(ctx, 2, id, []store.GroupQuestion{
				{ID: 5, GroupID: 6, Question: "first", Answers: []string{"x", "y", "x"}, Score: 2}, {Question: "second", Answers: []string{"z"}},
			}, nil)
			return err
		}, "questions")
		want := []store.GroupQuestion{
			{ID: questions[0], GroupID: id, Question: "first", Answers: []string{"x", "y"}, Score: 2},
			{ID: questions[1], GroupID: id, Question: "second", Answers: []string{"z"}},
		}
		if diff := cmp.Diff(want, must(w.Questions.Find(ctx, store.GroupQuestionFilter{}, 0, 0))(w)); diff != "" {
			w.Errorf("-want +got:\n%s", diff)
		}

		update := func(requester, question int64, c store.GroupQuestionChange, want apierr.Code) {
			w.Helper()
			wantRefusal(w, fmt.Sprintf("change by %d", requester), w.Questions.UpdateBy(ctx, requester, question, c), want)
		}
		update(9, questions[0], store.GroupQuestionChange{GroupID: &other}, 0)
		update(3, questions[0], store.GroupQuestionChange{Question: new("n")}, apierr.NotGroupOwnerOrManagerToUpdateGroupQuestion)
		update(1, 404, store.GroupQuestionChange{Question: new("n")}, apierr.NotGroupOwnerOrManagerToUpdateGroupQuestion)
		update(1, questions[0], store.GroupQuestionChange{Question: new("")}, apierr.IllegalArgument)
		update(1, questions[0], store.GroupQuestionChange{Score: new(int32(-1))}, apierr.IllegalArgument)
		update(1, questions[0], store.GroupQuestionChange{Answers: &many}, apierr.IllegalArgument)
		w.wantBumps(id, nil, func() error {
			return w.Questions.UpdateBy(ctx, 2, questions[0], store.GroupQuestionChange{Question: new("1st"), Answers: &[]string{"w", "w"}, Score: new(int32(7)), GroupID: &other})
		}, "questions")
		w.wantBumps(id, nil, func() error {
			return w.Questions.UpdateBy(ctx, 2, questions[0], store.GroupQuestionChange{Score: new(int32(7))})
		})
		want[0].Question, want[0].Answers, want[0].Score = "1st", []string{"w"}, 7
		if diff := cmp.Diff(want, must(w.Questions.Find(ctx, store.GroupQuestionFilter{}, 0, 0))(w)); diff != "" {
			w.Errorf("-want +got:\n%s", diff)
		}

		wantRefusal(w, "deletion", w.Questions.DeleteBy(ctx, 3, id, questions), apierr.NotGroupOwnerOrManagerToDeleteGroupQuestion)
		w.wantBumps(id, nil, func() error { return w.Questions.DeleteBy(ctx, 1, other, questions) })
		w.wantBumps(id, nil, func() error { return w.Questions.DeleteBy(ctx, 1, id, nil) })
		w.wantBumps(id, nil, func() error { return w.Questions.DeleteBy(ctx, 1, id, append(questions[:1], 404)) }, "questions")
		if left := must(w.Questions.Find(ctx, store.GroupQuestionFilter{}, 0, 0))(w); len(left) != 1 {
			w.Errorf("left are %v", left)
		}
		w.change(id, store.GroupChange{IsActive: new(false)})
		create(1, id, plain, apierr.CreateGroupQuestionForInactiveGroup)
	})
}

func TestAnswer(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id, other := w.cast(store.GroupType{JoinStrategy: store.JoinByQuestion, GroupSizeLimit: 6}), w.cast(store.GroupType{JoinStrategy: store.JoinByQuestion})
		w.change(id, store.GroupChange{MinimumScore: new(int32(5))})
		q := must(w.Questions.CreateBy(ctx, 1, id, []store.GroupQuestion{
			{Question: "a", Answers: []string{"x", "y"}, Score: 2}, {Question: "b", Answers: []string{"z"}, Score: 3}, {Question: "c", Answers: []string{"v"}, Score: 100},
		}, nil))(w)
		foreign := must(w.Questions.CreateBy(ctx, 1, other, []store.GroupQuestion{{Question: "a", Answers: []string{"x"}}}, nil))(w)[0]
		answer := func(user int64, answers map[int64]string, want Examination, code apierr.Code) {
			w.Helper()
			got, err := w.Questions.Answer(ctx, user, answers)
			wantRefusal(w, fmt.Sprintf("answers of %d", user), err, code)
			if diff := cmp.Diff(want, got); diff != "" {
				w.Errorf("-want +got:\n%s", diff)
			}
		}
		right := map[int64]string{q[0]: "y", q[1]: "z"}
		answer(9, nil, Examination{}, apierr.IllegalArgument)
		answer(9, map[int64]string{404: "x"}, Examination{}, apierr.IllegalArgument)
		answer(9, map[int64]string{q[0]: "x", 404: "x"}, Examination{}, apierr.IllegalArgument)
		answer(9, map[int64]string{q[0]: "x", foreign: "x"}, Examination{}, apierr.IllegalArgument)
		answer(8, right, Examination{}, apierr.GroupQuestionAnswererHasBeenBlocked)
		answer(5, right, Examination{}, apierr.GroupMemberAnswerGroupQuestion)
		answer(9, map[int64]string{q[0]: "Y", q[1]: "z"}, Examination{GroupID: id, Score: 3, Right: []int64{q[1]}}, 0)
		answer(9, map[int64]string{q[0]: ""}, Examination{GroupID: id}, 0)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{9}, func() error {
			answer(9, right, Examination{GroupID: id, Score: 5, Right: q[:2], Joined: true}, 0)
			return nil
		}, "members", "joined_groups:9")
		w.wantRoles(id, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST 9:MEMBER ")
		answer(10, right, Examination{}, apierr.AddUserToGroupWithSizeLimitReached)
		answer(10, map[int64]string{foreign: ""}, Examination{GroupID: other, Joined: true}, 0)

		must(w.Questions.Update(ctx, q, store.GroupQuestionChange{Score: new(int32(math.MaxInt32))}))(w)
		must(w.Members.RemoveBy(ctx, 9, id, []int64{9}))(w)
		answer(9, right, Examination{GroupID: id, Score: math.MaxInt32, Right: q[:2], Joined: true}, 0)
		w.change(id, store.GroupChange{TypeID: new(DefaultTypeID)})
		answer(10, right, Examination{}, apierr.AnswerInactiveGroupQuestion)
		w.change(id, store.GroupChange{IsActive: new(false)})
		answer(10, right, Examination{}, apierr.AnswerGroupQuestionOfInactiveGroup)
		must(w.Delete(ctx, []int64{id}, nil))(w)
		answer(10, right, Examination{}, apierr.AnswerGroupQuestionOfInactiveGroup)
	})
}
