package main

import (
	"bytes"
	"context"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
)

func loadRemit(data []byte) (*snapshot.Snapshot, error) {
	return snapshot.Load(bytes.NewReader(data), snapshot.Source{Name: "bench.csv"}, schema())
}

// middle sets the row that a deep page follows: the one in the middle of all
// matches.
func middle(ctx context.Context, s *snapshot.Snapshot, q *question) error {
	whole := q.query
	whole.Limit = catalogue.All
	all, err := s.Select(ctx, whole)
	if err == nil && len(all.Rows) > 0 {
		row := all.Rows[len(all.Rows)/2]
		q.query.After, q.after = row.ID, row.Values
	}
	return err
}

// askRemit is Remit's side of a question.
func askRemit(s *snapshot.Snapshot, q question) ask {
	return func(ctx context.Context) (answer, error) {
		if q.lookup != "" {
			row, _, err := s.Lookup(ctx, q.lookup, false)
			return answer{ids: []string{row.ID}, ranks: []int{0}, total: 1}, err
		}
		result, err := s.Select(ctx, q.query)
		a := answer{total: result.Total}
		for _, row := range result.Rows {
			a.ids = append(a.ids, row.ID)
			a.ranks = append(a.ranks, row.Rank)
		}
		return a, err
	}
}
