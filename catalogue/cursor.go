package catalogue

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"remit.example/record"
)

// A cursor is base64url(mac ‖ snapshot ‖ after): the first 16 bytes of
// HMAC-SHA-256, the snapshot's 12 digits with a sign whether the data was
// stale, and the id of the last row of the page. The mac also covers the
// tool, its filters, preferences, ties, limit and purpose, so that a cursor
// continues the request that it came from and no other.
const (
	macSize   = 16
	stateSize = 13
)

var cursorText = base64.RawURLEncoding.Strict()

// state is what must not have changed between two pages.
func (t *Tool) state(r request) string {
	digits := strings.TrimPrefix(t.Engine.Info().Snapshot, "sha256:")
	if r.stale {
		return digits + "s"
	}
	return digits + "f"
}

// cursorAfter continues after the last of the rows; "" where none follow.
func (t *Tool) cursorAfter(r request, rows []Row, more bool) string {
	if !more {
		return ""
	}
	state, after := t.state(r), rows[len(rows)-1].ID
	sealed := append(t.mac(r, state, after), state+after...)
	return cursorText.EncodeToString(sealed)
}

func (t *Tool) mac(r request, state, after string) []byte {
	hash := hmac.New(sha256.New, t.CursorKey)
	part := func(text string) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		hash.Write(size[:])
		hash.Write([]byte(text))
	}
	part(t.Contract.Service)
	part(t.name)
	for _, filter := range r.filters {
		part(filter.argument.Name)
		part(filter.text)
	}
	part("preferences")
	for _, p := range r.preferences {
		part(p.preference.Name)
		part(string(policyNames[p.key.Unknown]))
	}
	part("page")
	var page [9]byte
	binary.BigEndian.PutUint64(page[:8], uint64(r.limit))
	if r.cutTies {
		page[8] = 1
	}
	part(string(page[:]))
	if r.purpose != nil {
		part(r.purpose.Name)
		part(r.purpose.Value.Version)
	}
	part(state)
	part(after)
	return hash.Sum(nil)[:macSize]
}

// resume continues the query after the request's cursor. A cursor that was
// not given for this request, or for data that has since changed, is a failure.
func (t *Tool) resume(r request, q *Query) *Answer {
	if r.cursor == "" {
		return nil
	}
	sealed, err := cursorText.DecodeString(r.cursor)
	if err != nil || len(sealed) <= macSize+stateSize {
		return t.forged(r)
	}
	state, after := string(sealed[macSize:macSize+stateSize]), string(sealed[macSize+stateSize:])
	if !hmac.Equal(sealed[:macSize], t.mac(r, state, after)) {
		return t.forged(r)
	}
	if state != t.state(r) {
		stale := t.fail(r, "cursor", "stale_cursor", &record.Record{
			Code: record.PreconditionFailed, Field: "cursor",
			Message: "The catalogue has changed since this cursor was given; ask again without a cursor.",
			Fields:  []record.Field{{Pointer: "/cursor", Reason: "stale", Accepted: "null"}},
		})
		return &stale
	}
	q.After = after
	return nil
}

func (t *Tool) forged(r request) *Answer {
	answer := t.invalid(r, []Fault{{
		Path: []string{"cursor"}, Reason: "not_given", Accepted: "the cursor of an answer to this same request, or null",
		Message: "This cursor was not given for this request; repeat the request that it came from, unchanged, or leave it out.",
	}})
	return &answer
}
