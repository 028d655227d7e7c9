// Package mcp calls tools over the Model Context Protocol, for package drive:
// over streamable HTTP, or over the standard input and output of a command.
//
// The conditions of a sandbox are members of a call's _meta: remit/case has the
// object, remit/execution the number. The promise of a tool is remit/promise in
// the _meta of its definition. Arguments reach the server as they stand, but for
// white space between their tokens.
//
// # An answer
//
// It has failed if isError is true, or if its text or structuredContent has the
// member error. Its body is the first text content, and the last one of an
// answer that has failed. A body is JSON; a failure that is a sentence alone
// becomes a JSON text, and has whatever record goes with it.
//
// The record of a failure is _meta["remit/recovery"], and the member recovery
// of its body. Where both stand and are the same, the body's bytes are taken,
// which show how numbers and texts were written. Where they differ, the record
// is {"_meta": the one, "body": the other}, which is no record to any judge: a
// client that reads either would act on it.
//
// An error of the protocol, a request for more input and an answer without text
// are no answers.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"remit.example/drive"
	driveexec "remit.example/drive/exec"
	"remit.example/oracle"
)

// Options configures how a server is called.
type Options struct {
	// Revision is the one to speak, such as 2025-11-25; "" is the newest that
	// both sides know.
	Revision string
	Token    string        // a bearer token, for an address and never for a command; "": none
	Timeout  time.Duration // of opening the session, listing the tools, and each call; 0: drive.DefaultTimeout
	// Command is the command to start, with its arguments; target then only
	// names it. nil: target is taken apart at its blanks.
	Command []string
	// Foreign says that the tools keep no answer format: where the first text of
	// an answer is prose, the body is structuredContent, or else that text.
	Foreign bool
}

// Tools are those of one server.
type Tools struct {
	session *sdk.ClientSession
	command *exec.Cmd // nil for an address
	timeout time.Duration
	errs    *driveexec.Tail // of a command; nil for an address
	breaker *breaker        // of an address; nil for a command
	foreign bool
}

// Dial opens a session with the server at target: an http or https address, or
// a command line, which runs until Close or the end of ctx. The error says what
// of this failed, or that the server speaks another revision than the one that
// was asked for.
func Dial(ctx context.Context, target string, options Options) (*Tools, error) {
	t := &Tools{timeout: cmp.Or(options.Timeout, drive.DefaultTimeout), foreign: options.Foreign}
	transport, err := t.transport(ctx, target, options)
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "remit check", Version: "1"}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}, // it would call again
	})
	err = t.within(ctx, func(ctx context.Context) error {
		t.session, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: options.Revision})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: no session: %w", target, err)
	}
	if got := t.Revision(); options.Revision != "" && got != options.Revision {
		_ = t.Close()
		return nil, fmt.Errorf("%s speaks the revision %.40q, and %s was asked for", target, got, options.Revision)
	}
	return t, nil
}

// Revision is the one that the session speaks.
func (t *Tools) Revision() string { return t.session.InitializeResult().ProtocolVersion }

// Close ends the session, and the command with all that it has started.
func (t *Tools) Close() error {
	err := t.session.Close()
	if t.command != nil && t.command.Process != nil {
		_ = driveexec.KillGroup(t.command) // whom it has left behind
	}
	return err
}

// List lists the tools, however many pages they are on.
func (t *Tools) List(ctx context.Context) ([]drive.Tool, error) {
	var tools []drive.Tool
	err := t.within(ctx, func(ctx context.Context) error {
		for listed, err := range t.session.Tools(ctx, nil) {
			if err != nil {
				return fmt.Errorf("the list of tools: %w", err)
			}
			promise, _ := listed.Meta["remit/promise"].(string)
			tools = append(tools, drive.Tool{Name: listed.Name, Promise: promise})
		}
		return nil
	})
	return tools, err
}

// Call makes one call.
func (t *Tools) Call(ctx context.Context, name string, input []byte, c *oracle.Condition, execution int) (oracle.ToolAnswer, error) {
	params := &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(input)}
	if c != nil {
		params.Meta = sdk.Meta{"remit/case": c, "remit/execution": execution}
	}
	var result *sdk.CallToolResult
	err := t.within(ctx, func(ctx context.Context) (err error) {
		result, err = t.session.CallTool(ctx, params)
		return err
	})
	if err != nil {
		return oracle.ToolAnswer{}, err
	}
	if t.foreign {
		result = inJSON(result)
	}
	answer, err := read(result)
	_, answer.Replayed = result.Meta["remit/replayed"]
	return answer, err
}

// within does one thing in the time that there is for it, and explains why it
// could not be done.
func (t *Tools) within(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	err := do(limited)
	switch {
	case err == nil:
		return nil
	case limited.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("no answer within %s", t.timeout)
	case t.session != nil && errors.Is(err, sdk.ErrConnectionClosed):
		_ = t.Close() // so that all that a command has said is here
	}
	if t.errs != nil {
		return fmt.Errorf("%w%s", err, t.errs)
	}
	return err
}
