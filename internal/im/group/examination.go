// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"maps"
	"math"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// CreateBy adds questions to a group on behalf of a requester, all or none, and returns their ids
// in order. It sets their ids and groups. The key is stored for repeated requests; nil means none.
func (q *Questions) CreateBy(ctx context.Context, requester, groupID int64, questions []store.GroupQuestion, key *store.MessageKey) ([]int64, error) {
	if len(questions) == 0 {
		return nil, apierr.New(apierr.IllegalArgument, "questions: at least one question is needed")
	}
	questions = slices.Clone(questions)
	for i := range questions {
		created := &questions[i]
		created.GroupID, created.Answers = groupID, firstOfEach(created.Answers)
		if created.Question == "" {
			return nil, apierr.New(apierr.IllegalArgument, "questions: a question has no text")
		}
		if err := q.check(&created.Question, &created.Answers, &created.Score); err != nil {
			return nil, err
		}
		var err error
		if created.ID, err = q.ids.NextContext(ctx); err != nil {
			return nil, err
		}
	}
	ids := convert(questions, func(q store.GroupQuestion) int64 { return q.ID })
	err := q.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := key.Remember(ctx, tx, ids...); err != nil {
			return err
		}
		at, err := managed(ctx, tx, groupID, requester, apierr.NotGroupOwnerOrManagerToCreateGroupQuestion)
		if err != nil {
			return err
		}
		if err := at.mayExamine(); err != nil {
			return err
		}
		return q.insert(ctx, tx, groupID, questions...)
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// mayExamine returns an error if the group is not joined by answering questions.
func (at standing) mayExamine() error {
	if !at.active() {
		return apierr.New(apierr.CreateGroupQuestionForInactiveGroup, "")
	}
	switch at.kind.JoinStrategy {
	case store.JoinByQuestion:
		return nil
	case store.JoinByRequest:
		return apierr.New(apierr.CreateGroupQuestionForGroupUsingJoinRequest, "")
	case store.JoinByInvitation:
		return apierr.New(apierr.CreateGroupQuestionForGroupUsingInvitation, "")
	default:
		return apierr.New(apierr.CreateGroupQuestionForGroupUsingMembershipRequest, "")
	}
}

// UpdateBy changes a question on behalf of a requester. It cannot move to another group.
func (q *Questions) UpdateBy(ctx context.Context, requester, questionID int64, c store.GroupQuestionChange) error {
	c.GroupID = nil
	if c == (store.GroupQuestionChange{}) {
		return nil
	}
	if c.Answers != nil {
		c.Answers = new(firstOfEach(*c.Answers))
	}
	if c.Question != nil && *c.Question == "" {
		return apierr.New(apierr.IllegalArgument, "question: must not be empty")
	}
	if err := q.check(c.Question, c.Answers, c.Score); err != nil {
		return err
	}
	return q.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := store.FindGroupQuestions(ctx, tx, store.GroupQuestionFilter{IDs: []int64{questionID}}, store.Page{})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return apierr.New(apierr.NotGroupOwnerOrManagerToUpdateGroupQuestion, "")
		}
		groupID := found[0].GroupID
		if _, err := managed(ctx, tx, groupID, requester, apierr.NotGroupOwnerOrManagerToUpdateGroupQuestion); err != nil {
			return err
		}
		modified, err := store.UpdateGroupQuestions(ctx, tx, []int64{questionID}, c)
		if err != nil || len(modified) == 0 {
			return err
		}
		return store.BumpGroupVersions(ctx, tx, store.GroupQuestions, []int64{groupID}, q.now())
	})
}

// DeleteBy deletes those of the questions that belong to a group, on behalf of a requester.
func (q *Questions) DeleteBy(ctx context.Context, requester, groupID int64, questionIDs []int64) error {
	return q.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := managed(ctx, tx, groupID, requester, apierr.NotGroupOwnerOrManagerToDeleteGroupQuestion); err != nil {
			return err
		}
		if len(questionIDs) == 0 {
			return nil
		}
		found, err := store.FindGroupQuestions(ctx, tx, store.GroupQuestionFilter{IDs: questionIDs, GroupIDs: []int64{groupID}}, store.Page{})
		if err != nil || len(found) == 0 {
			return err
		}
		return q.remove(ctx, tx, found)
	})
}

// Examination is the result of answering questions of a group.
type Examination struct {
	GroupID int64
	Score   int32
	// Right are the questions with a correct answer, in ascending order.
	Right []int64
	// Joined is true if the score sufficed to join the group.
	Joined bool
}

// Answer answers questions of a group on behalf of a user, who joins it as a plain member if the
// score suffices.
func (q *Questions) Answer(ctx context.Context, userID int64, answers map[int64]string) (Examination, error) {
	if len(answers) == 0 {
		return Examination{}, apierr.New(apierr.IllegalArgument, "questionIdToAnswer: at least one answer is needed")
	}
	now := q.now()
	var result Examination
	err := q.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		questions, err := store.FindGroupQuestions(ctx, tx, store.GroupQuestionFilter{IDs: slices.Sorted(maps.Keys(answers))}, store.Page{})
		if err != nil {
			return err
		}
		if len(questions) < len(answers) {
			return apierr.New(apierr.IllegalArgument, "questionIdToAnswer: %d of %d questions do not exist", len(answers)-len(questions), len(answers))
		}
		groupID := questions[0].GroupID
		at, err := mayAnswer(ctx, tx, userID, groupID)
		if err != nil {
			return err
		}
		if result, err = examine(questions, answers); err != nil {
			return err
		}
		if result.Joined = result.Score >= at.group.MinimumScore; !result.Joined {
			return nil
		}
		return join(ctx, tx, groupID, at.kind.GroupSizeLimit, now, plainMember(groupID, userID, now))
	})
	if err != nil {
		return Examination{}, err
	}
	return result, nil
}

func mayAnswer(ctx context.Context, r store.Reader, userID, groupID int64) (standing, error) {
	at, err := standingOf(ctx, r, groupID, userID)
	if err != nil {
		return at, err
	}
	blocked, err := IsBlocked(ctx, r, groupID, userID)
	switch {
	case err != nil:
		return at, err
	case blocked:
		return at, apierr.New(apierr.GroupQuestionAnswererHasBeenBlocked, "")
	case at.member != nil:
		return at, apierr.New(apierr.GroupMemberAnswerGroupQuestion, "")
	case !at.active():
		return at, apierr.New(apierr.AnswerGroupQuestionOfInactiveGroup, "")
	case at.kind.JoinStrategy != store.JoinByQuestion:
		return at, apierr.New(apierr.AnswerInactiveGroupQuestion, "")
	}
	return at, nil
}

// examine evaluates the answers. All questions must be of one group.
func examine(questions []store.GroupQuestion, answers map[int64]string) (Examination, error) {
	result := Examination{GroupID: questions[0].GroupID}
	var score int64
	for _, q := range questions {
		if q.GroupID != result.GroupID {
			return Examination{}, apierr.New(apierr.IllegalArgument, "questionIdToAnswer: the questions %d and %d are of different groups", questions[0].ID, q.ID)
		}
		if slices.Contains(q.Answers, answers[q.ID]) {
			result.Right = append(result.Right, q.ID)
			score += int64(q.Score)
		}
	}
	result.Score = int32(min(score, math.MaxInt32))
	return result, nil
}
