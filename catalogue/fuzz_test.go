package catalogue_test

import (
	"testing"
	"unicode/utf8"
)

// FuzzRequest: whatever the bytes of a request, every tool answers with one
// JSON object in UTF-8, within the budget where it refuses.
func FuzzRequest(f *testing.F) {
	shops := map[string]*shop{"v1": lightsV1(f), "v2": lampShop(f)}
	tools := []struct{ shop, name string }{
		{"v1", "search"},
		{"v1", "rank_preferences"},
		{"v1", "assess_suitability"},
		{"v2", "search_lamps"},
		{"v2", "rank_lamps"},
		{"v2", "assess_lamps"},
		{"v2", "get_lamp"},
	}
	for _, seed := range []string{
		``, `{}`, `[[[[`, `{"request_id":"x","filters":{"max_price_minor":6000,"min_lumens":600,"in_stock":true}}`,
		`{"request_id":"x","preferences":["price_ascending",{"field":"lumens","prefer":"highest","unknown":"reject"}],"ties":"cut","limit":1}`,
		`{"request_id":"x","purpose":"colour_matching","cursor":"DechBvV_PWpZx8CJvh_5ETAxMjM0NTY3ODlhYmYwMDE3"}`,
		`{"request_id":"\u0000\ud83d\ude00\ud800","sku":"0017","x":1e999}`,
		"{\"request_id\":\"\xff\",\"filters\":{\"title\":\"\xc0 lamp\",\"watts\":-0.00}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		for _, tool := range tools {
			answer := shops[tool.shop].answer(tool.name, string(request), 1500)
			if members := membersOf(t, string(answer.Body)); members[0].name != "request_id" || !utf8.Valid(answer.Body) || answer.Prose == "" {
				t.Errorf("%s: %s %q", tool.name, answer.Body, answer.Prose)
			}
			if again := shops[tool.shop].answer(tool.name, string(request), 1500); string(again.Body) != string(answer.Body) {
				t.Errorf("%s: two answers, %s and %s", tool.name, answer.Body, again.Body)
			}
		}
	})
}
