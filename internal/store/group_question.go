// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"example.org/app/internal/store/sqldb"
)

// A GroupQuestion is a question for joining a group. Any of the answers is correct.
type GroupQuestion struct {
	ID, GroupID int64
	Question    string
	// Answers are in the order in which they were given.
	Answers []string
	Score   int32
}

// A GroupQuestionFilter selects questions. Empty fields do not restrict; all others must match.
type GroupQuestionFilter struct{ IDs, GroupIDs []int64 }

// A GroupQuestionChange describes a change. Nil fields stay unchanged.
type GroupQuestionChange struct {
	GroupID  *int64
	Question *string
	Answers  *[]string
	Score    *int32
}

var groupQuestions = newTable("group_question", "id group_id question answers score", func(q *GroupQuestion) []any {
	return []any{&q.ID, &q.GroupID, &q.Question, answers(&q.Answers), &q.Score}
})

func answers(field *[]string) document[[]string] {
	return document[[]string]{field, func(list []string) any { return append([]string{}, list...) }}
}

// InsertGroupQuestions stores new questions. It returns ErrDuplicateKey if an id exists.
func InsertGroupQuestions(ctx context.Context, tx Tx, questions ...GroupQuestion) error {
	for _, q := range questions {
		if err := checkTexts(q.Answers); err != nil {
			return fmt.Errorf("insert group questions: %w", err)
		}
	}
	if err := groupQuestions.insert(ctx, tx, questions...); err != nil {
		return fmt.Errorf("insert group questions: %w", err)
	}
	return nil
}

// checkTexts returns an error for texts that cannot be stored; a JSON document would hide them.
func checkTexts(texts []string) error {
	for _, text := range texts {
		if err := sqldb.CheckText(text); err != nil {
			return err
		}
	}
	return nil
}

func (f GroupQuestionFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	anyOf(&c, "t.group_id", f.GroupIDs)
	return c
}

// FindGroupQuestions returns the questions that match the filter, ordered by id.
func FindGroupQuestions(ctx context.Context, r Reader, filter GroupQuestionFilter, page Page) ([]GroupQuestion, error) {
	return selectGroupQuestions(ctx, r, filter.conditions(), page)
}

func selectGroupQuestions(ctx context.Context, r Reader, c conditions, page Page) ([]GroupQuestion, error) {
	questions, err := groupQuestions.find(ctx, r, c, page, "t.id")
	if err != nil {
		return nil, fmt.Errorf("find group questions: %w", err)
	}
	return questions, nil
}

// GroupQuestionsAfter returns the questions with ids greater than after, at most limit of them.
func GroupQuestionsAfter(ctx context.Context, r Reader, after *int64, limit int) ([]GroupQuestion, error) {
	return selectGroupQuestions(ctx, r, idAfter(after), Page{Limit: limit})
}

// idAfter returns the condition that an id is greater than after; nil means the beginning.
func idAfter(after *int64) (c conditions) {
	if after != nil {
		c.when("t.id > ?", *after)
	}
	return c
}

// CountGroupQuestions returns how many questions match the filter.
func CountGroupQuestions(ctx context.Context, r Reader, filter GroupQuestionFilter) (int64, error) {
	return countRows(ctx, r, "group_question", filter.conditions())
}

// UpdateGroupQuestions changes the questions with the given ids and returns the ids of those that
// differ afterwards.
func UpdateGroupQuestions(ctx context.Context, tx Tx, ids []int64, change GroupQuestionChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "group_id", change.GroupID)
	setIf(&c, "question", change.Question)
	if change.Answers != nil {
		if err := checkTexts(*change.Answers); err != nil {
			return nil, fmt.Errorf("update group questions: %w", err)
		}
		c.setField("answers", answers(change.Answers))
	}
	setIf(&c, "score", change.Score)
	return c.update(ctx, tx, "group_question", "id", in("t.id", ids))
}

// DeleteGroupQuestions deletes the questions with the given ids and returns how many there were.
func DeleteGroupQuestions(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "group_question", in("t.id", ids))
}
