// Package proxy moves the messages of MCP between clients and the server that
// a guard stands in front of.
//
// # Forms
//
//	client  upstream  message by message
//	stdio   process   lines to lines
//	stdio   HTTP      lines to requests
//	HTTP    process   requests to lines; a process for each session, and one
//	                  for all requests without a session
//	HTTP    HTTP      requests to requests
//
// Answers to tools/list and calls of tools go through package guard. All else
// passes as it came, to the byte; a batch is taken apart first. Bodies that an
// HTTP upstream compresses are decoded. Over HTTP Authorization and
// WWW-Authenticate pass, and the metadata of OAuth protected resources (RFC
// 9728) name the guard's address in the upstream's place.
//
// # Limits
//
// A message is at most 32 MiB, from either side; a request's header 64 KiB,
// read within 10 s, its body within a minute. An upstream that writes a longer
// message has lost its answer. A client that does not read is waited for, a
// minute at most over HTTP.
//
// # Principals
//
// Over standard input the caller is the user that runs the guard. Over HTTP it
// is who a verified token names; without verification an HMAC of the
// Authorization header, which changes when the token is renewed; without a
// token the session, and where there is none the client's address.
package proxy

import (
	"errors"
	"fmt"
	"time"

	"remit.example/guard"
)

const (
	// MaxMessage is the longest message, in bytes.
	MaxMessage = 32 << 20

	maxHead     = 64 << 10
	headTime    = 10 * time.Second
	bodyTime    = time.Minute
	writeTime   = time.Minute
	idleTime    = 2 * time.Minute
	maxSessions = 1000 // processes for HTTP clients
)

// The codes of what went wrong between the guard and the server. They lie
// outside the range that JSON-RPC keeps for itself.
const (
	serverEnded = -31001 // it ended, or is not there
	tooLong     = -31002
)

// notMessage is the answer to bytes that are no message.
func notMessage(err error) []byte {
	if errors.Is(err, errTooLong) {
		return guard.ErrorMessage(nil, tooLong, fmt.Sprintf("The message is longer than %d MiB.", MaxMessage>>20))
	}
	return guard.NotMessage(err)
}

// statusSentence says that a server answered without a message.
func statusSentence(status int) string {
	return fmt.Sprintf("The MCP server answered with the status %d and no message.", status)
}
