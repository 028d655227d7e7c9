package trace_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"remit.example/guard"
	"remit.example/guard/trace"
	"remit.example/record"
)

func TestRedact(t *testing.T) {
	const gone = "[redacted]"
	for text, want := range map[string]string{
		// nothing to redact
		"":                                     "",
		"Invoice in_9 not found":               "Invoice in_9 not found",
		"Rate limited, retry in 30s":           "Rate limited, retry in 30s",
		"bearer authentication required":       "bearer authentication required",
		"invalid token: the token has expired": "invalid token: the token has expired",
		"token: expired.":                      "token: expired.",
		"max_tokens: 4096, total_tokens=7":     "max_tokens: 4096, total_tokens=7",
		"design: flat, monkey=1, assign: me":   "design: flat, monkey=1, assign: me",
		"write to ann@example.com":             "write to ann@example.com",
		"https://example.com/a@b?x=1":          "https://example.com/a@b?x=1",
		"key_01j9 was used, KEY_REUSED":        "key_01j9 was used, KEY_REUSED",
		// credentials of HTTP
		"Authorization: Bearer abc.def-123":        "Authorization: " + gone,
		"sent Bearer abc123DEF456 and failed":      "sent Bearer " + gone + " and failed",
		"basic dXNlcjpwYXNz":                       "basic " + gone,
		`{"authorization":"Custom abc def","a":1}`: `{"authorization":"` + gone + `","a":1}`,
		"Set-Cookie: sid=abc; Path=/\nnext":        "Set-Cookie: " + gone + "\nnext",
		// addresses
		"postgres://ann:pa55@db/x":             "postgres://" + gone + "@db/x",
		"get https://ghx@host/a: no such host": "get https://" + gone + "@host/a: no such host",
		"https://h/a?api_key=abc&b=1":          "https://h/a?api_key=" + gone + "&b=1",
		"https://h/a?sig=abc%2B&se=1":          "https://h/a?sig=" + gone + "&se=1",
		// tokens by their form
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln ok":                            gone + " ok",
		"No such API key: sk_live_" + "51H8abcdefgh":                              "No such API key: " + gone,
		"sk-" + "proj-abcdefghijklmnop":                                           gone,
		"ghp_" + "abcdefghijklmnopqrst":                                           gone,
		"xoxb-" + "12345678-abc":                                                  gone,
		"AKIA" + "IOSFODNN7EXAMPLE.":                                              gone + ".",
		"a -----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- b": "a " + gone + " b",
		"-----BEGIN PRIVATE KEY-----\\nabc":                                       gone,
		// pairs
		"password=hunter2, user=ann":                "password=" + gone + ", user=ann",
		"token: abc":                                "token: " + gone,
		"DB_PASSWORD = 'a b' x":                     "DB_PASSWORD = '" + gone + "' x",
		"clientSecret: s3":                          "clientSecret: " + gone,
		"X-Api-Key: abc":                            "X-Api-Key: " + gone,
		`{"password":"a\"b","n":1}`:                 `{"password":"` + gone + `","n":1}`,
		`{"pwd":1234,"secret":{"v":"x"},"n":1}`:     `{"pwd":"` + gone + `","secret":"` + gone + `","n":1}`,
		`{"tokens":["a","b"]}`:                      `{"tokens":"` + gone + `"}`,
		`"{\"api_key\":\"abc\",\"pwd\":12}"`:        `"{\"api_key\":\"` + gone + `\",\"pwd\":\"` + gone + `\"}"`,
		`password="cut of`:                          `password="` + gone,
		`password=ab\cd e`:                          `password=` + gone + ` e`,
		"stdio:npx acme --api-key abc --port 1":     "stdio:npx acme --api-key " + gone + " --port 1",
		"stdio:acme --token=abc -- x":               "stdio:acme --token=" + gone + " -- x",
		`{"access_token":"abc","token_type":"Bea"}`: `{"access_token":"` + gone + `","token_type":"Bea"}`,
	} {
		got := trace.Redact(text)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		if again := trace.Redact(got); again != got {
			t.Errorf("%s: again: %s", got, again)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Errorf("%s: no JSON any more: %s", text, got)
		}
	}
}

// FuzzRedact: whatever stands around them, secrets do not stay, and the line
// stays one line of JSON.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{"", "token: ", `{"a":"`, "\\", `\"`, "'", "[", "password", "https://", "-----BEGIN PRIVATE KEY-----", "é", "\xff", "Bearer ", "--secret"} {
		f.Add(s, s)
	}
	secrets := []string{
		"password=hunter2x9", `"password": "hunter2x9"`, "sk_live_hunter2x9aa", "Bearer hunter2x9aa", "https://u:hunter2x9@h/", "AKIAHUNTER2X9AAAAA",
		"eyJhunter2x9.eyJhunter2x9.hunter2x9", "--api-key hunter2x9",
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, secret := range secrets {
			text := before + " " + secret + " " + after
			if strings.Contains(strings.ToLower(before+after), "hunter2x9") {
				continue
			}
			got := trace.Redact(text)
			if strings.Contains(strings.ToLower(got), "hunter2x9") {
				t.Errorf("%q stays in %q", secret, got)
			}
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%q is no UTF-8", got)
			}
			d := guard.Decision{
				At: time.UnixMilli(0), Task: text, Caller: text, Upstream: text, Tool: text, Code: record.Code(text), Message: text, Operation: text,
				From: guard.FromTool,
			}
			line := trace.NewForm().Append(nil, d)
			if n := strings.Count(string(line), "\n"); n != 1 {
				t.Errorf("%d lines: %q", n, line)
			}
			if strings.Contains(strings.ToLower(string(line)), "hunter2x9") {
				t.Errorf("%q stays in %q", secret, line)
			}
			if _, err := trace.Parse(line); err != nil {
				t.Errorf("%v: %q", err, line)
			}
		}
	})
}

// TestRedactCost: no text of a server keeps the trace busy.
func TestRedactCost(t *testing.T) {
	for _, part := range []string{
		"a", "a-", "token", "token:", `token:"`, `"token":"x",`, `\"token\":\"`, "Bearer ", "://", "a://b@", "eyJ", "eyJaaaaaa.", "-----BEGIN PRIVATE KEY",
		"-----BEGIN PRIVATE KEY-----", "x.pwd ", "password=", "authorization:", "[", `\\`, "sk-", "--token ",
	} {
		began := time.Now()
		trace.Redact(strings.Repeat(part, 8<<10/len(part)))
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%q: %v", part, took)
		}
	}
}
