package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/tool"
)

// TestShopOverMCP takes a shop's export to an agent: draft, answer the two
// questions, validate, serve, and ask with the official client.
func TestShopOverMCP(t *testing.T) {
	folder := t.TempDir()
	data, file := filepath.Join(folder, "products.csv"), filepath.Join(folder, contractFile)
	if err := os.WriteFile(data, []byte(shopExport()), 0o644); err != nil {
		t.Fatal(err)
	}
	runs(t, "init", data, "-o", file)
	draft, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	answered := strings.NewReplacer("max_age: ASK", "max_age: 24h", "currency: ASK, from", "currency: EUR, from").Replace(string(draft))
	if err := os.WriteFile(file, []byte(answered), 0o644); err != nil {
		t.Fatal(err)
	}
	runs(t, "contract", "validate", file)

	r := start(t, serveFlags{}, folder)
	for _, era := range eras {
		for name, transport := range map[string]sdk.Transport{
			"stdio": &sdk.CommandTransport{Command: remitCommand(t, "serve", "--stdio", folder)},
			"http":  &sdk.StreamableClientTransport{Endpoint: r.url + "/mcp"},
		} {
			t.Run(name+"/"+era, func(t *testing.T) { asksShop(t, connect(t, era, transport)) })
		}
	}
}

// runs runs one command that must succeed.
func runs(t *testing.T, args ...string) {
	t.Helper()
	var log strings.Builder
	if code := run(args, strings.NewReader(""), &log, &log); code != exitOK {
		t.Fatalf("remit %v: exit %d: %s", args, code, &log)
	}
}

func asksShop(t *testing.T, session *sdk.ClientSession) {
	for name, input := range map[string]string{
		"search_products":             `{"request_id":"1","filters":{"title":"desk lamp","max_price_minor":9000,"stock":true}}`,
		"rank_products_by_preference": `{"request_id":"2","filters":{"title":"desk lamp"},"preferences":["price_ascending"]}`,
	} {
		result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(input)})
		if err != nil || result.IsError {
			t.Fatalf("%s: %v %v", name, result, err)
		}
		text := result.Content[0].(*sdk.TextContent).Text
		if n := utf8.RuneCountInString(text); n > tool.AgentCharacters {
			t.Errorf("%s: %d characters, want at most %d", name, n, tool.AgentCharacters)
		}
		var answer struct {
			Items []struct {
				Fields struct {
					Title string
					Price int    `json:"price_minor"`
					Link  string `json:"link"`
				}
			}
			Units map[string]string
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Items) == 0 || answer.Units["price_minor"] != "EUR" {
			t.Fatalf("%s: %s", name, text)
		}
		for _, item := range answer.Items {
			f := item.Fields
			if !strings.HasPrefix(f.Title, "Desk lamp ") || f.Price < 999 || !strings.HasPrefix(f.Link, "https://shop.example/products/desk-lamp-") {
				t.Errorf("%s: an item lacks name, price or link: %+v", name, f)
			}
		}
	}
}
