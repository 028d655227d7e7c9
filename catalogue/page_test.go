package catalogue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"remit.example/catalogue"
	"remit.example/record"
)

// many is a catalogue of n lamps, of which three each share price and lumens.
func many(t tester, n int) *shop {
	var data strings.Builder
	data.WriteString("sku,title,link,price,lumens,watts,in_stock\n")
	for i := range n {
		fmt.Fprintf(&data, "L%04d,Lamp %d,,%d,%d,,true\n", i, i, 100*(i/3), i%2)
	}
	return open(t, lamps, data.String())
}

// walk follows the cursors of a request, whose members but the cursor are
// given, to the last page.
func walk(t tester, s *shop, tool, members string, characters int) (pages []string) {
	t.Helper()
	cursor := "null"
	for len(pages) < 1000 {
		answer := s.answer(tool, `{`+members+`,"cursor":`+cursor+`}`, characters)
		if answer.Failure != nil {
			t.Fatalf("page %d: %s", len(pages), answer.Failure.Message)
		}
		pages = append(pages, string(answer.Body))
		next := decoded[order](t, string(answer.Body)).Cursor
		if next == nil {
			return pages
		}
		cursor = `"` + *next + `"`
	}
	t.Fatal("the pages have no end")
	return nil
}

// itemsOf are the items of pages, one after the other, or their ids.
func itemsOf(t tester, pages []string) (items []string) {
	t.Helper()
	for _, body := range pages {
		page := decoded[struct {
			Items []json.RawMessage
			IDs   []string
		}](t, body)
		for _, item := range page.Items {
			items = append(items, string(item))
		}
		if page.Items == nil {
			items = append(items, page.IDs...)
		}
	}
	return items
}

// TestPages: the pages of every tool are the whole order, item by item, with
// the ranks that the whole has.
func TestPages(t *testing.T) {
	s := many(t, 100)
	for _, c := range []struct{ tool, members string }{
		{"search_lamps", `"filters":{"title":"lamp"}`},
		{"rank_lamps", `"preferences":["price_ascending"]`},
		{"rank_lamps", `"preferences":["price_ascending"],"ties":"cut"`},
		{"rank_lamps", `"preferences":["lumens_descending","price_ascending"],"filters":{"max_price_minor":2500}`},
		{"rank_lamps", `"preferences":[{"field":"lumens","prefer":"lowest","unknown":"exclude"}],"ties":"cut"`},
		{"assess_lamps", `"purpose":"colour_matching"`},
	} {
		members := `"request_id":"x",` + c.members
		whole := itemsOf(t, []string{s.ask(c.tool, `{`+members+`,"limit":100}`)})
		for _, limit := range []int{1, 2, 7, 33, 99} {
			pages := walk(t, s, c.tool, fmt.Sprintf(`%s,"limit":%d`, members, limit), 0)
			if got := itemsOf(t, pages); !slices.Equal(got, whole) {
				t.Errorf("%s %s, limit %d: got %d items %.200v, want %d", c.tool, c.members, limit, len(got), got, len(whole))
			}
			for _, page := range pages {
				cutsOpenly(t, page, !strings.Contains(c.members, "cut"))
				if len(itemsOf(t, []string{page})) == 0 {
					t.Errorf("%s %s, limit %d: a page is empty", c.tool, c.members, limit)
				}
			}
		}
	}
}

// cutsOpenly: a page whose last item shares its rank with more items than the
// page shows either says so or is the end of them; whole says that no tie of
// at most 100 may be cut at all.
func cutsOpenly(t tester, body string, whole bool) {
	t.Helper()
	page := decoded[order](t, body)
	if page.Status != "preference_order" {
		return
	}
	last := page.Items[len(page.Items)-1]
	shown := 0
	for _, item := range page.Items {
		if item.Rank == last.Rank {
			shown++
		}
	}
	switch {
	case page.CutTie == nil && shown < last.Tied && page.Cursor != nil && page.Items[0].Rank != last.Rank:
		t.Errorf("%d of %d are shown in silence: %s", shown, last.Tied, body)
	case page.CutTie != nil && (page.CutTie.Rank != last.Rank || page.CutTie.Tied != last.Tied || page.CutTie.Shown != shown || shown == last.Tied || page.Cursor == nil):
		t.Errorf("cut_tie is wrong: %s", body)
	case page.CutTie != nil && whole && last.Tied <= 100:
		t.Errorf("a tie is cut that a page can hold: %s", body)
	}
}

// TestTies: a page grows to hold a tie, to at most 100 items, and says where
// even that does not do.
func TestTies(t *testing.T) {
	s := many(t, 250)
	for i := range s.engine.rows {
		s.engine.rows[i].Values[3].Int = int64(i/30) * 10 // ties of 30
	}
	members := `"request_id":"x","preferences":["price_ascending"],"limit":20`
	var sizes []int
	pages := walk(t, s, "rank_lamps", members, 0)
	for _, page := range pages {
		sizes = append(sizes, len(decoded[order](t, page).Items))
		cutsOpenly(t, page, true)
	}
	if want := []int{30, 30, 30, 30, 30, 30, 30, 30, 10}; !slices.Equal(sizes, want) {
		t.Errorf("pages of %v, want %v", sizes, want)
	}
	for i := range s.engine.rows {
		s.engine.rows[i].Values[3].Int = 7 // one tie of 250
	}
	pages = walk(t, s, "rank_lamps", members, 0)
	for i, want := range []string{`"cut_tie":{"rank":1,"tied":250,"shown":100}`, `"cut_tie":{"rank":1,"tied":250,"shown":100}`, `"shown":50`} {
		if got := strings.Contains(pages[i], want); got != (i < 2) || len(pages) != 3 {
			t.Errorf("page %d of %d: %s is there: %v", i, len(pages), want, got)
		}
	}
}

// TestCursors: a cursor continues the very request that it came from.
func TestCursors(t *testing.T) {
	s := many(t, 30)
	const request = `{"request_id":"x","filters":{"max_price_minor":900},"preferences":["price_ascending"],"limit":3%s}`
	cursor := *decoded[order](t, s.ask("rank_lamps", fmt.Sprintf(request, ""))).Cursor
	with := func(request, cursor string) string { return fmt.Sprintf(request, `,"cursor":"`+cursor+`"`) }
	if got := s.ask("rank_lamps", with(request, cursor)); !strings.Contains(got, `"preference_order"`) {
		t.Fatal(got)
	}
	if got := s.ask("rank_lamps", strings.Replace(with(request, cursor), `"x"`, `"another"`, 1)); !strings.Contains(got, `"preference_order"`) {
		t.Errorf("a request id is the caller's own: %s", got)
	}
	refuse := func(name string, s *shop, tool, request, status, code string) {
		t.Helper()
		answer := s.answer(tool, request, 0)
		if answer.Failure == nil || string(answer.Failure.Code) != code || answer.Failure.Field != "cursor" ||
			answer.Failure.Fields[0].Pointer != "/cursor" || !strings.Contains(string(answer.Body), `"status":"`+status+`","field":"cursor"`) {
			t.Errorf("%s: %s %+v", name, answer.Body, answer.Failure)
		}
	}
	for i := range cursor {
		changed := []byte(cursor)
		changed[i] = "BA"[min(1, max(0, int(changed[i])-'A'))]
		if string(changed) != cursor {
			refuse(fmt.Sprintf("byte %d", i), s, "rank_lamps", with(request, string(changed)), "invalid_input", "INVALID_ARGUMENT")
		}
		if i > 0 {
			refuse(fmt.Sprintf("%d bytes", i), s, "rank_lamps", with(request, cursor[:i]), "invalid_input", "INVALID_ARGUMENT")
		}
	}
	for _, other := range []string{
		strings.Replace(request, `"limit":3`, `"limit":4`, 1),
		strings.Replace(request, `,"limit":3`, ``, 1),
		strings.Replace(request, `900`, `901`, 1),
		strings.Replace(request, `"filters":{"max_price_minor":900},`, ``, 1),
		strings.Replace(request, `["price_ascending"]`, `["lumens_ascending"]`, 1),
		strings.Replace(request, `["price_ascending"]`, `["price_ascending","lumens_ascending"]`, 1),
		strings.Replace(request, `["price_ascending"]`, `[{"field":"price","prefer":"lowest","unknown":"exclude"}]`, 1),
		strings.Replace(request, `"limit":3`, `"limit":3,"ties":"cut"`, 1),
	} {
		refuse(other, s, "rank_lamps", with(other, cursor), "invalid_input", "INVALID_ARGUMENT")
	}
	refuse("another tool", s, "search_lamps", `{"request_id":"x","limit":3,"cursor":"`+cursor+`"}`, "invalid_input", "INVALID_ARGUMENT")
	foreign := many(t, 30)
	foreign.source.CursorKey = []byte("fedcba9876543210")
	refuse("another key", foreign, "rank_lamps", with(request, cursor), "invalid_input", "INVALID_ARGUMENT")
	for name, change := range map[string]func(*shop){
		"another snapshot":  func(s *shop) { s.engine.info.Snapshot = "sha256:ba9876543210" },
		"data grown stale":  func(s *shop) { s.source.Now = func() time.Time { return asOf.Add(25 * time.Hour) } },
		"an empty snapshot": func(s *shop) { s.engine.info.Snapshot, s.engine.rows = "sha256:000000000000", nil },
	} {
		changed := many(t, 30)
		change(changed)
		refuse(name, changed, "rank_lamps", with(request, cursor), "stale_cursor", "PRECONDITION_FAILED")
	}
}

// TestOneTime: an answer is of one time, however long it takes.
func TestOneTime(t *testing.T) {
	s := many(t, 6)
	asked := 0
	s.source.Now = func() time.Time { // the data grows stale after the first look
		asked++
		return asOf.Add(time.Duration(asked) * 23 * time.Hour)
	}
	if got := s.ask("search_lamps", `{"request_id":"x","limit":2}`); !strings.Contains(got, `"price_minor":0`) || !strings.Contains(got, `"stale":false`) {
		t.Error(got)
	}
}

// failing is an engine whose data cannot be read.
type failing struct{ *plain }

func (failing) Select(context.Context, catalogue.Query) (catalogue.Result, error) {
	return catalogue.Result{}, errors.New("the disk is away")
}

func (failing) Lookup(context.Context, string, bool) (catalogue.Row, bool, error) {
	return catalogue.Row{}, false, errors.New("the disk is away")
}

// TestUnavailable: what the engine cannot answer is a typed failure that may
// be asked again.
func TestUnavailable(t *testing.T) {
	s := lampShop(t)
	s.source.Engine = failing{s.engine}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct{ tool, rest string }{
		{"search_lamps", `,"filters":{"min_lumens":1}`},
		{"rank_lamps", `,"preferences":["price_ascending"]`},
		{"assess_lamps", `,"purpose":"colour_matching","filters":{"min_lumens":1}`},
		{"get_lamp", `,"sku":"0017"`},
	} {
		answer := s.tool(c.tool).Answer(cancelled, []byte(`{"request_id":"x"`+c.rest+`}`), 0)
		if string(answer.Body) != `{"request_id":"x","status":"unavailable","recommendation":false}` {
			t.Errorf("%s: %s", c.tool, answer.Body)
		}
		if f := answer.Failure; f == nil || f.Code != record.TempUnavailable || *f.RetryAfterMS != 1000 {
			t.Errorf("%s: %+v", c.tool, f)
		}
	}
}

// TestBudget: an answer for an agent has at most 1,500 code points unless one
// item alone, with its texts at their shortest, has more; nothing is lost over
// the pages, and no tie is cut in silence.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShop(t)
		tool, members := drawRequest(t)
		whole := itemsOf(t, []string{s.ask(tool, `{`+members+`,"limit":100}`)})
		limit := rapid.IntRange(1, 100).Draw(t, "limit")
		pages := walk(t, s, tool, fmt.Sprintf(`%s,"limit":%d`, members, limit), 1500)
		for _, page := range pages {
			if n := utf8.RuneCountInString(page); n > 1500 && !shortest(t, page) {
				t.Fatalf("%d code points: %s", n, page)
			}
			cutsOpenly(t, page, false)
		}
		got := itemsOf(t, pages)
		if len(got) != len(whole) {
			t.Fatalf("%d items in pages, %d in all", len(got), len(whole))
		}
		for i := range got {
			if idOf(t, got[i]) != idOf(t, whole[i]) {
				t.Fatalf("item %d is %s, want %s", i, got[i], whole[i])
			}
		}
	})
}

// TestShortened: texts are halved until the answer fits, to 20 characters at
// the least, and those that are short enough stay.
func TestShortened(t *testing.T) {
	s := open(t, `remit: 1
service: texts
data: {file: texts.csv, as_of: 2026-01-01}
columns: {id: {id: true}, a: {type: text, show: true}, b: {type: text, show: true}, c: {type: text, show: true}}
tools: {get: {promise: lookup, by: id}}
`, "id,a,b,c\n1,x,x,x\n")
	for _, c := range []struct {
		characters int
		lengths    [3]int
		want       [3]int // … included
		shortened  string
	}{
		{1500, [3]int{375, 3000, 3000}, [3]int{375, 376, 376}, "b c"},
		{1500, [3]int{5, 3000, 6}, [3]int{5, 751, 6}, "b"},
		{160, [3]int{20, 1000, 21}, [3]int{20, 21, 21}, "b c"},
	} {
		for i, n := range c.lengths {
			s.engine.rows[0].Values[i+1].Text = strings.Repeat("é", n)
		}
		body := string(s.answer("get", `{"request_id":"x","id":"1"}`, c.characters).Body)
		got := decoded[struct {
			Fields    struct{ A, B, C string }
			Shortened []string
		}](t, body)
		lengths := [3]int{utf8.RuneCountInString(got.Fields.A), utf8.RuneCountInString(got.Fields.B), utf8.RuneCountInString(got.Fields.C)}
		if lengths != c.want || strings.Join(got.Shortened, " ") != c.shortened {
			t.Errorf("in %d characters: %v, shortened %v; want %v, %s", c.characters, lengths, got.Shortened, c.want, c.shortened)
		}
	}
}

// shortest reports whether a page has one item at most and no text that could
// be shorter.
func shortest(t tester, body string) bool {
	page := decoded[struct {
		IDs     []string
		Items   []struct{ Fields map[string]any }
		Filters map[string]any
	}](t, body)
	for _, texts := range append([]map[string]any{page.Filters}, fieldsOf(page.Items)...) {
		for _, value := range texts {
			if text, ok := value.(string); ok && utf8.RuneCountInString(text) > 24 {
				return false
			}
		}
	}
	return len(page.Items) <= 1
}

func fieldsOf(items []struct{ Fields map[string]any }) (list []map[string]any) {
	for _, item := range items {
		list = append(list, item.Fields)
	}
	return list
}

func idOf(t tester, item string) string {
	if !strings.HasPrefix(item, "{") {
		return item
	}
	return decoded[struct{ ID string }](t, item).ID
}

// drawShop draws up to 15 lamps with texts of any length.
func drawShop(t *rapid.T) *shop {
	s := open(t, lamps, "sku,title,link,price,lumens,watts,in_stock\n")
	texts := rapid.OneOf(rapid.StringN(0, 8, -1), rapid.StringN(0, 300, -1), rapid.Just(strings.Repeat("\x01", 300)), rapid.Just(strings.Repeat("langer Titel ", 150)))
	for i := range rapid.IntRange(0, 15).Draw(t, "rows") {
		id := fmt.Sprintf("%03d", i) + rapid.StringN(0, 4, -1).Draw(t, "id")
		number := func(name string) catalogue.Value {
			return catalogue.Value{Known: true, Int: rapid.Int64Range(0, 3).Draw(t, name)}
		}
		unknown := func(v catalogue.Value) catalogue.Value {
			if rapid.Bool().Draw(t, "known") {
				return v
			}
			return catalogue.Value{}
		}
		s.engine.rows = append(s.engine.rows, catalogue.Row{ID: id, DecidedBy: -1, Values: []catalogue.Value{
			{Known: true, Text: id},
			{Known: true, Text: texts.Draw(t, "title")},
			{},
			number("price"), unknown(number("lumens")), unknown(number("watts")),
			{Known: true, Int: rapid.Int64Range(0, 1).Draw(t, "in_stock")},
		}})
	}
	return s
}

func drawRequest(t *rapid.T) (tool, members string) {
	id := record.AppendString(nil, rapid.StringN(0, 40, -1).Draw(t, "request_id"))
	word := record.AppendString(nil, rapid.SampledFrom([]string{"langer", strings.Repeat("langer ", 300), "zzz " + strings.Repeat("y", 2000)}).Draw(t, "word"))
	rest := rapid.SampledFrom([]struct{ tool, members string }{
		{"search_lamps", ``},
		{"search_lamps", `,"filters":{"title":` + string(word) + `}`},
		{"search_lamps", `,"filters":{"min_lumens":1,"in_stock":true}`},
		{"rank_lamps", `,"preferences":["price_ascending"]`},
		{"rank_lamps", `,"preferences":["lumens_descending",{"field":"watts","prefer":"lowest","unknown":"exclude"}]`},
		{"rank_lamps", `,"preferences":["in_stock_descending","price_ascending"],"ties":"cut"`},
		{"assess_lamps", `,"purpose":"colour_matching"`},
	}).Draw(t, "request")
	return rest.tool, `"request_id":` + string(id) + rest.members
}
