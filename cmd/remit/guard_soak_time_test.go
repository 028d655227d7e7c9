package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"remit.example/contract"
	"remit.example/guard"
	"remit.example/operation"
)

// TestImpatientCaller: a caller gives up at 60 s, the effect comes at 70 s, and
// calls with new keys come at 61 s and at 80 s. There is one charge, whoever
// makes the key. Two deliberate identical writes are two.
func TestImpatientCaller(t *testing.T) {
	const text = `remit: 1
service: bank
upstream: {stdio: [bank]}
tools:
  charge: {effect: keyed, key: {argument: key, by: caller}, identity: [invoice]}
  bill: {effect: keyed, key: {argument: key, by: guard}, identity: [invoice]}
  send: {effect: unsafe, identity: [invoice]}
  note: {effect: unsafe}
`
	for _, tool := range bankWrites {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := contract.Parse("bank.yaml", []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				store, began, effects := operation.NewMemory(time.Now), time.Now(), 0
				g := guard.New(guard.Options{Contract: c, Upstream: "bank", Store: store})
				defer g.Wait()
				length := 70 * time.Second
				exec := func(ctx context.Context, request []byte) (guard.Response, error) {
					m, err := guard.ParseMessage(request)
					if err != nil {
						return guard.Response{}, err
					}
					time.Sleep(length)
					if ctx.Err() != nil {
						return guard.Response{}, ctx.Err()
					}
					effects++
					answer, err := guard.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"receipt %d"}]}}`, m.ID, effects))
					return guard.Response{Message: answer}, err
				}
				session, calls := new(guard.Session), 0
				call := func(at, patience time.Duration) string {
					time.Sleep(time.Until(began.Add(at)))
					calls++
					key := ""
					if tool == "charge" {
						key = fmt.Sprintf(`,"key":"k%d"`, calls)
					}
					m, err := guard.ParseMessage(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"invoice":"a"%s}}}`, calls, tool, key))
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					reply := g.Call(ctx, guard.Caller{Principal: "agent", Connection: "one"}, session, m, exec)
					reply.Done(!reply.Gone)
					if reply.Gone {
						return "gone"
					}
					var got struct {
						Result struct {
							Content []struct{ Text string }
							Meta    struct {
								Recovery struct{ Code string } `json:"remit/recovery"`
								Replayed json.RawMessage       `json:"remit/replayed"`
							} `json:"_meta"`
						}
					}
					if err := json.Unmarshal(reply.Message, &got); err != nil || len(got.Result.Content) == 0 {
						t.Fatalf("%v: %s", err, reply.Message)
					}
					words := []string{got.Result.Content[0].Text}
					if code := got.Result.Meta.Recovery.Code; code != "" {
						words[0] = code
					}
					if got.Result.Meta.Replayed != nil {
						words = append(words, "replayed")
					}
					return strings.Join(words, ", ")
				}
				for _, step := range []struct {
					at   time.Duration
					want string
				}{{0, "gone"}, {61 * time.Second, "IN_PROGRESS"}, {80 * time.Second, "receipt 1, replayed"}} {
					if got := call(step.at, time.Minute); got != step.want {
						t.Errorf("at %v: %s, want %s", step.at, got, step.want)
					}
				}
				if effects != 1 {
					t.Errorf("%d effects of one charge", effects)
				}
				length = time.Second
				for i := range 2 {
					if got, want := call(time.Duration(90+i*10)*time.Second, time.Minute), fmt.Sprintf("receipt %d", i+2); got != want {
						t.Errorf("a deliberate write: %s, want %s", got, want)
					}
				}
				all, err := store.List(t.Context(), operation.Filter{States: []operation.State{operation.Confirmed}}, "", 10)
				if effects != 3 || len(all) != 3 || err != nil {
					t.Errorf("%d effects of one charge and two deliberate ones, and %d confirmed: %v", effects, len(all), err)
				}
			})
		})
	}
}
