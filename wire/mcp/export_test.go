package mcp

import "testing"

// SetMaxSessions lowers the limit for one test.
func SetMaxSessions(t *testing.T, limit int) {
	before := maxSessions
	maxSessions = limit
	t.Cleanup(func() { maxSessions = before })
}
