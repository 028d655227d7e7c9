package oracle

import "testing"

// TestRequest: the member tool goes, and every other byte stays.
func TestRequest(t *testing.T) {
	for line, want := range map[string]string{
		`{"request_id":"S1","tool":"search","filters":{"max_price_minor":6000.0}}`: `{"request_id":"S1","filters":{"max_price_minor":6000.0}}`,
		`{"tool":"search","request_id":"S1"}`:                                      `{"request_id":"S1"}`,
		`{ "tool" : "search" , "request_id":"S1" }`:                                `{ "request_id":"S1" }`,
		`{"request_id":"S1","tool":"search"}`:                                      `{"request_id":"S1"}`,
		`{"request_id":"S1","a":{"tool":1},"t\u006fol":"search","b":1e3,"b":2}`:    `{"request_id":"S1","a":{"tool":1},"b":1e3,"b":2}`,
		`{"tool":"search"}`: `{}`,
	} {
		c := &Case{Line: []byte(line)}
		tool, got := c.Request()
		if tool != "search" || string(got) != want || string(c.Line) != line {
			t.Errorf("%s: got %s and %s, want search and %s", line, tool, got, want)
		}
	}
}
