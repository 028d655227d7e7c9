package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuardIdle: ten thousand connections that say nothing keep nobody from
// being served, and cost a bounded amount of memory each.
func TestGuardIdle(t *testing.T) {
	const many = 10_000
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`)
	}))
	defer upstream.Close()
	guard := remitCommand(t, "guard", "--state", "sqlite:"+filepath.Join(t.TempDir(), "guard.db"), "--listen", "ADDRESS", "--upstream", upstream.URL+"/mcp")
	address := listening(t, guard)
	ask := func(n int) string {
		response, err := http.Post("http://"+address+"/mcp", "application/json",
			strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":%d}}}`, n)))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask(1); !strings.Contains(got, "done") {
		t.Fatal(got)
	}
	before := residentBytes(t, guard.Process.Pid)
	for range many {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
	}
	if got := ask(2); !strings.Contains(got, "done") {
		t.Error(got)
	}
	each := (residentBytes(t, guard.Process.Pid) - before) / many
	t.Logf("%d bytes for each of %d connections", each, many)
	if each > 64<<10 {
		t.Errorf("%d bytes for each connection", each)
	}
}

// residentBytes is the memory that a process holds (proc_pid_statm(5)).
func residentBytes(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
