// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// CreateQuestion adds a question that a group asks of those who want to join.
// Repeated answers count once.
func (d *Directory) CreateQuestion(ctx context.Context, q store.GroupQuestion) (_ store.GroupQuestion, err error) {
	if q.ID, err = d.opts.IDs.NextContext(ctx); err != nil {
		return store.GroupQuestion{}, err
	}
	q.Answers = firstOfEach(q.Answers)
	if err := d.checkQuestion(&q.Question, &q.Answers, &q.Score); err != nil {
		return store.GroupQuestion{}, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := store.InsertGroupQuestions(ctx, tx, q); err != nil {
			return err
		}
		return store.BumpGroupVersions(ctx, tx, store.GroupQuestions, []int64{q.GroupID}, d.now())
	})
	if err != nil {
		return store.GroupQuestion{}, err
	}
	return q, nil
}

// firstOfEach removes repeated values and keeps the order.
func firstOfEach[T comparable](values []T) []T {
	list := []T{}
	for _, value := range values {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

func (d *Directory) checkQuestion(question *string, answers *[]string, score *int32) error {
	limits := d.opts.Settings().Question
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

// FindQuestions returns questions in the order of their ids.
func (d *Directory) FindQuestions(ctx context.Context, f store.GroupQuestionFilter, limit, offset int) ([]store.GroupQuestion, error) {
	return find(ctx, d, f, limit, offset, store.FindGroupQuestions)
}

// FindQuestionPage returns a page of questions and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindQuestionPage(ctx context.Context, f store.GroupQuestionFilter, page store.Page) (int64, []store.GroupQuestion, error) {
	return findPage(ctx, d, f, page, store.CountGroupQuestions, store.FindGroupQuestions)
}

// UpdateQuestions changes the questions with these ids.
func (d *Directory) UpdateQuestions(ctx context.Context, questionIDs []int64, c store.GroupQuestionChange) (store.UpdateResult, error) {
	if c == (store.GroupQuestionChange{}) {
		return store.UpdateResult{}, nil
	}
	if c.Answers != nil {
		answers := firstOfEach(*c.Answers)
		c.Answers = &answers
	}
	if err := d.checkQuestion(c.Question, c.Answers, c.Score); err != nil {
		return store.UpdateResult{}, err
	}
	var result store.UpdateResult
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
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
		for _, q := range before {
			if slices.Contains(modified, q.ID) {
				groups = append(groups, q.GroupID, deref(c.GroupID, q.GroupID))
			}
		}
		return store.BumpGroupVersions(ctx, tx, store.GroupQuestions, groups, d.now())
	})
	return result, err
}

// DeleteQuestions removes the questions with these ids.
func (d *Directory) DeleteQuestions(ctx context.Context, questionIDs []int64) (deleted int64, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		questions, err := store.FindGroupQuestions(ctx, tx, store.GroupQuestionFilter{IDs: questionIDs}, store.Page{})
		if err != nil {
			return err
		}
		deleted = int64(len(questions))
		return d.deleteQuestions(ctx, tx, questions)
	})
	return deleted, err
}

func (d *Directory) deleteQuestions(ctx context.Context, tx store.Tx, questions []store.GroupQuestion) error {
	var questionIDs, groups []int64
	for _, q := range questions {
		questionIDs, groups = append(questionIDs, q.ID), append(groups, q.GroupID)
	}
	if _, err := store.DeleteGroupQuestions(ctx, tx, questionIDs); err != nil {
		return err
	}
	return store.BumpGroupVersions(ctx, tx, store.GroupQuestions, groups, d.now())
}

// DeleteAllQuestions removes all questions, in several transactions.
func (d *Directory) DeleteAllQuestions(ctx context.Context) (int64, error) {
	return deleteAll(ctx, d, store.GroupQuestionsAfter, func(q store.GroupQuestion) int64 { return q.ID }, d.deleteQuestions)
}

// deleteAll deletes records in the order of their ids, a batch in each
// transaction. Records that appear meanwhile may stay.
func deleteAll[T any](ctx context.Context, d *Directory,
	next func(ctx context.Context, r store.Reader, after *int64, limit int) ([]T, error), id func(T) int64,
	remove func(ctx context.Context, tx store.Tx, records []T) error,
) (deleted int64, err error) {
	var after *int64
	for {
		var records []T
		err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			if records, err = next(ctx, tx, after, batch); err != nil || len(records) == 0 {
				return err
			}
			return remove(ctx, tx, records)
		})
		if err != nil || len(records) == 0 {
			return deleted, err
		}
		deleted += int64(len(records))
		last := id(records[len(records)-1])
		after = &last
	}
}
