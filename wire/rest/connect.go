package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"remit.example/tool"
)

// quote writes text as one word of a POSIX shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// curl is a call of one tool with curl.
func (s *server) curl(t *tool.Tool, base, request string) string {
	authorization := ""
	if s.service.NeedsToken(t) {
		authorization = ` -H "Authorization: Bearer $REMIT_TOKEN"`
	}
	return fmt.Sprintf("curl -sS -H 'Content-Type: application/json'%s -d %s %s/v1/tools/%s", authorization, quote(request), base, t.Name)
}

// remitCall is the same with the program remit.
func remitCall(t *tool.Tool, base, request string) string {
	return fmt.Sprintf("remit call %s --url %s --input %s", t.Name, base, quote(request))
}

// baseURL is the server's address as the caller wrote it.
func baseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// configuration is one server in a client's mcpServers.
type configuration struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
}

func (s *server) httpConfiguration(set *tool.Set, base string) string {
	c := configuration{Type: "http", URL: base + "/mcp"}
	if s.service.HasTokens() {
		c.Headers = map[string]string{"Authorization": "Bearer ${REMIT_TOKEN}"}
	}
	return configurationText(set, c)
}

func (s *server) stdioConfiguration(set *tool.Set) string {
	return configurationText(set, configuration{Command: "remit", Args: append([]string{"serve", "--stdio"}, s.options.Paths...)})
}

// configurationText names the server by its service, or remit if it has several.
func configurationText(set *tool.Set, c configuration) string {
	name := ""
	for _, t := range set.Tools() {
		if name != "" && name != t.Service.Service {
			name = "remit"
			break
		}
		name = t.Service.Service
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string]any{"mcpServers": map[string]configuration{name: c}}); err != nil { // only strings
		panic(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}
