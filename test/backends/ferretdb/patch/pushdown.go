package sqlite

import (
	"fmt"
	"strings"

	"github.com/FerretDB/FerretDB/internal/backends/sqlite/metadata"
	"github.com/FerretDB/FerretDB/internal/handler/sjson"
	"github.com/FerretDB/FerretDB/internal/types"
	"github.com/FerretDB/FerretDB/internal/util/must"
)

// pushdown lets SQLite's indexes answer what a filter says about texts, as MongoDB's would. The rows that it leaves are
// still compared with the whole filter: it may leave too many and never too few.
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

		// As the expressions of the indexes are written.
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

// textsOf gives the texts that a condition asks for, one or a list of them; nothing for any other condition.
func textsOf(condition any) []any {
	switch condition := condition.(type) {
	case string:
		return []any{string(must.NotFail(sjson.MarshalSingleValue(condition)))}
	case *types.Document:
		list, _ := condition.Get("$in")
		array, ok := list.(*types.Array)

		// SQLite takes 32,766 parameters.
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
