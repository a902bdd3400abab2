// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Questions manages the questions that users answer to join groups.
type Questions struct {
	records[store.GroupQuestionFilter, store.GroupQuestion]
	ids      *ids.Generator
	now      func() time.Time
	settings func() config.GroupQuestion
}

func newQuestions(db *store.DB, generator *ids.Generator, now func() time.Time, settings func() config.GroupQuestion) *Questions {
	found := records[store.GroupQuestionFilter, store.GroupQuestion]{db, store.FindGroupQuestions, store.CountGroupQuestions}
	return &Questions{found, generator, now, settings}
}

// Create adds a question to a group. Duplicate answers are removed.
func (q *Questions) Create(ctx context.Context, created store.GroupQuestion) (_ store.GroupQuestion, err error) {
	if created.ID, err = q.ids.NextContext(ctx); err != nil {
		return store.GroupQuestion{}, err
	}
	created.Answers = firstOfEach(created.Answers)
	if err := q.check(&created.Question, &created.Answers, &created.Score); err != nil {
		return store.GroupQuestion{}, err
	}
	err = q.store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return q.insert(ctx, tx, created.GroupID, created) })
	if err != nil {
		return store.GroupQuestion{}, err
	}
	return created, nil
}

func (q *Questions) insert(ctx context.Context, tx store.Tx, groupID int64, created ...store.GroupQuestion) error {
	if err := store.InsertGroupQuestions(ctx, tx, created...); err != nil {
		return err
	}
	return store.BumpGroupVersions(ctx, tx, store.GroupQuestions, []int64{groupID}, q.now())
}

// firstOfEach removes duplicates and keeps the order.
func firstOfEach[T comparable](values []T) []T {
	list := []T{}
	for _, value := range values {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

func (q *Questions) check(question *string, answers *[]string, score *int32) error {
	limits := q.settings()
	if question != nil {
		if err := check.MaxLength("question", *question, limits.QuestionContentLimit); err != nil {
			return err
		}
	}
	if answers != nil {
		if n := len(*answers); n == 0 {
			return apierr.New(apierr.IllegalArgument, "answers: at least one answer is needed")
		} else if limits.MaxAnswerCount > 0 && n > int(limits.MaxAnswerCount) {
			return apierr.New(apierr.IllegalArgument, "answers: must have at most %d elements, but has %d", limits.MaxAnswerCount, n)
		}
		for _, answer := range *answers {
			if err := check.MaxLength("answers", answer, limits.AnswerContentLimit); err != nil {
				return err
			}
		}
	}
	if score != nil && *score < 0 {
		return apierr.New(apierr.IllegalArgument, "score: %d must be at least 0", *score)
	}
	return nil
}

// Update changes the questions with these ids.
func (q *Questions) Update(ctx context.Context, questionIDs []int64, c store.GroupQuestionChange) (store.UpdateResult, error) {
	if c == (store.GroupQuestionChange{}) {
		return store.UpdateResult{}, nil
	}
	if c.Answers != nil {
		answers := firstOfEach(*c.Answers)
		c.Answers = &answers
	}
	if err := q.check(c.Question, c.Answers, c.Score); err != nil {
		return store.UpdateResult{}, err
	}
	var result store.UpdateResult
	err := q.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		before, err := store.FindGroupQuestions(ctx, tx, store.GroupQuestionFilter{IDs: questionIDs}, store.Page{})
		if err != nil {
			return err
		}
		modified, err := store.UpdateGroupQuestions(ctx, tx, questionIDs, c)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: int64(len(before)), Modified: int64(len(modified))}
		var groups []int64
		for _, b := range before {
			if slices.Contains(modified, b.ID) {
				groups = append(groups, b.GroupID, deref(c.GroupID, b.GroupID))
			}
		}
		return store.BumpGroupVersions(ctx, tx, store.GroupQuestions, groups, q.now())
	})
	return result, err
}

// Delete removes the questions with these ids.
func (q *Questions) Delete(ctx context.Context, questionIDs []int64) (deleted int64, err error) {
	err = q.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		questions, err := store.FindGroupQuestions(ctx, tx, store.GroupQuestionFilter{IDs: questionIDs}, store.Page{})
		if err != nil {
			return err
		}
		deleted = int64(len(questions))
		return q.remove(ctx, tx, questions)
	})
	return deleted, err
}

func (q *Questions) remove(ctx context.Context, tx store.Tx, questions []store.GroupQuestion) error {
	var questionIDs, groups []int64
	for _, gone := range questions {
		questionIDs, groups = append(questionIDs, gone.ID), append(groups, gone.GroupID)
	}
	if _, err := store.DeleteGroupQuestions(ctx, tx, questionIDs); err != nil {
		return err
	}
	return store.BumpGroupVersions(ctx, tx, store.GroupQuestions, groups, q.now())
}

// DeleteAll deletes all questions, in several transactions. Questions that are added meanwhile may
// stay.
func (q *Questions) DeleteAll(ctx context.Context) (deleted int64, err error) {
	var after *int64
	for {
		var found []store.GroupQuestion
		err := q.store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			if found, err = store.GroupQuestionsAfter(ctx, tx, after, batch); err != nil || len(found) == 0 {
				return err
			}
			return q.remove(ctx, tx, found)
		})
		if err != nil || len(found) == 0 {
			return deleted, err
		}
		deleted += int64(len(found))
		after = &found[len(found)-1].ID
	}
}

// List returns the questions of a group. Only managers may get the answers.
func (q *Questions) List(ctx context.Context, requester, groupID int64, withAnswers bool, since *time.Time) ([]store.GroupQuestion, *time.Time, error) {
	l := list[store.GroupQuestion]{
		version: versionOfGroup(store.GroupQuestions, groupID),
		items: func(ctx context.Context, r store.Reader) ([]store.GroupQuestion, error) {
			return store.FindGroupQuestions(ctx, r, store.GroupQuestionFilter{GroupIDs: []int64{groupID}}, store.Page{})
		},
	}
	if withAnswers {
		l.allowed = managedBy(requester, groupID, apierr.NotGroupOwnerOrManagerToQueryGroupQuestionAnswer)
	}
	found, date, err := l.read(ctx, q.store, since)
	if !withAnswers {
		for i := range found {
			found[i].Answers = nil
		}
	}
	return found, date, err
}
