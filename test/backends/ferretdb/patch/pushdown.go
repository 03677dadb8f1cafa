package sqlite

import (
	"fmt"
	"strings"

	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

// pushdown lets SQLite's indexes serve the text conditions of a filter, like MongoDB's indexes. FerretDB still compares the
// remaining rows with the whole filter, so pushdown may leave too many rows, but never too few.
func pushdown(filter *types.Document) (string, []any) {
	var parts []string
	var args []any

	if filter == nil {
		return "", nil
	}

	for _, key := range filter.Keys() {
		if strings.HasPrefix(key, "$") || strings.Contains(key, ".") {
			continue
		}

		// The same form as in the expressions of the indexes.
		column := fmt.Sprintf("%s->%q", metadata.DefaultColumn, key)
		if key == "_id" {
			column = metadata.IDColumn
		}

		texts := textsOf(must.NotFail(filter.Get(key)))
		if len(texts) == 0 {
			continue
		}

		parts = append(parts, fmt.Sprintf("%s IN (?%s)", column, strings.Repeat(", ?", len(texts)-1)))
		args = append(args, texts...)
	}

	if len(parts) == 0 {
		return "", nil
	}

	return " WHERE " + strings.Join(parts, " AND "), args
}

// textsOf returns the texts of a condition: one, a list, or nothing for any other condition.
func textsOf(condition any) []any {
	switch condition := condition.(type) {
	case string:
		return []any{string(must.NotFail(sjson.MarshalSingleValue(condition)))}
	case *types.Document:
		list, _ := condition.Get("$in")
		array, ok := list.(*types.Array)

		// SQLite accepts 32,766 parameters.
		if !ok || condition.Len() != 1 || array.Len() > 10_000 {
			return nil
		}

		var texts []any

		for i := range array.Len() {
			text, ok := must.NotFail(array.Get(i)).(string)
			if !ok {
				return nil
			}

			texts = append(texts, string(must.NotFail(sjson.MarshalSingleValue(text))))
		}

		return texts
	}

	return nil
}
