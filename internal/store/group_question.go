// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"
)

// A GroupQuestion is a question that a group asks of those who want to join. Any of the answers is right.
type GroupQuestion struct {
	ID, GroupID int64
	Question    string
	// Answers are in the order in which they were given.
	Answers []string
	Score   int32
}

// A GroupQuestionFilter selects questions. An empty field is no restriction; all fields must match.
type GroupQuestionFilter struct{ IDs, GroupIDs []int64 }

// A GroupQuestionChange says what to change. A nil field stays as it is.
type GroupQuestionChange struct {
	GroupID  *int64
	Question *string
	Answers  *[]string
	Score    *int32
}

type groupQuestionRow struct {
	bun.BaseModel `bun:"table:group_question,alias:t"`
	ID            int64  `bun:"id,pk"`
	GroupID       int64  `bun:"group_id"`
	Question      string `bun:"question"`
	Answers       string `bun:"answers"`
	Score         int32  `bun:"score"`
}

// answersText never fails: every text has a JSON form. Text that is not UTF-8 is refused before it gets here.
func answersText(answers []string) string {
	if answers == nil {
		answers = []string{}
	}
	document, err := json.Marshal(answers)
	if err != nil {
		panic(err)
	}
	return string(document)
}

// InsertGroupQuestions stores new questions. An id that exists is an ErrDuplicateKey.
func InsertGroupQuestions(ctx context.Context, tx Tx, questions ...GroupQuestion) error {
	rows := make([]groupQuestionRow, len(questions))
	for i, q := range questions {
		if err := checkTexts(q.Answers); err != nil {
			return fmt.Errorf("insert group questions: %w", err)
		}
		rows[i] = groupQuestionRow{ID: q.ID, GroupID: q.GroupID, Question: q.Question, Answers: answersText(q.Answers), Score: q.Score}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert group questions: %w", err)
	}
	return nil
}

// checkTexts refuses texts that cannot be stored before a JSON document hides that.
func checkTexts(texts []string) error {
	for _, text := range texts {
		if err := checkText(text); err != nil {
			return err
		}
	}
	return nil
}

func (f GroupQuestionFilter) conditions(engine Engine) (c conditions) {
	anyOf(&c, engine, "t.id", f.IDs)
	anyOf(&c, engine, "t.group_id", f.GroupIDs)
	return c
}

// FindGroupQuestions returns the questions that match the filter, ordered by id.
func FindGroupQuestions(ctx context.Context, r Reader, filter GroupQuestionFilter, page Page) ([]GroupQuestion, error) {
	return selectGroupQuestions(ctx, r, filter.conditions(r.Engine()), page)
}

func selectGroupQuestions(ctx context.Context, r Reader, c conditions, page Page) ([]GroupQuestion, error) {
	var rows []groupQuestionRow
	if err := page.apply(whereAll(r.NewSelect().Model(&rows), c), "t.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("find group questions: %w", translate(err))
	}
	questions := make([]GroupQuestion, len(rows))
	for i, row := range rows {
		questions[i] = GroupQuestion{ID: row.ID, GroupID: row.GroupID, Question: row.Question, Answers: []string{}, Score: row.Score}
		if err := json.Unmarshal([]byte(row.Answers), &questions[i].Answers); err != nil {
			return nil, fmt.Errorf("read the answers of group question %d: %w", row.ID, err)
		}
	}
	return questions, nil
}

// GroupQuestionsAfter returns the questions with an id above a given one, at most limit of them.
func GroupQuestionsAfter(ctx context.Context, r Reader, after *int64, limit int) ([]GroupQuestion, error) {
	return selectGroupQuestions(ctx, r, idAfter(after), Page{Limit: limit})
}

// idAfter is the condition that an id is above a given one; nil is the beginning.
func idAfter(after *int64) (c conditions) {
	if after != nil {
		c.and(bun.SafeQuery("t.id > ?", *after))
	}
	return c
}

// CountGroupQuestions returns how many questions match the filter.
func CountGroupQuestions(ctx context.Context, r Reader, filter GroupQuestionFilter) (int64, error) {
	return countRows(ctx, r, "group_question", filter.conditions(r.Engine()))
}

// UpdateGroupQuestions changes the questions with the given ids and returns the ids of those that differ afterwards.
func UpdateGroupQuestions(ctx context.Context, tx Tx, ids []int64, change GroupQuestionChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "group_id", change.GroupID)
	setIf(&c, "question", change.Question)
	if change.Answers != nil {
		if err := checkTexts(*change.Answers); err != nil {
			return nil, fmt.Errorf("update group questions: %w", err)
		}
		c.set("answers", answersText(*change.Answers))
	}
	setIf(&c, "score", change.Score)
	return c.update(ctx, tx, "group_question", "id", conditions{In(tx.Engine(), "t.id", ids)})
}

// DeleteGroupQuestions deletes the questions with the given ids and returns how many there were.
func DeleteGroupQuestions(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "group_question", conditions{In(tx.Engine(), "t.id", ids)})
}
