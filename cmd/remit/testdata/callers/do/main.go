// Command do is a caller that recovers by recovery.Do: it posts its input,
// waits, corrects and renews as the failures permit, and stops where they end.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"remit.example/record"
	"remit.example/recovery"
)

func main() {
	answer, err := recovery.Do(context.Background(), task(), json.RawMessage(os.Getenv("REMIT_INPUT")), post)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s", answer)
}

// task is what the caller can do when it is asked: offer its corrections one
// after another, and say whether authentication is re-established.
func task() *recovery.Task[json.RawMessage, []byte] {
	corrections := correctionsOf(os.Getenv("REMIT_CORRECTIONS"))
	return &recovery.Task[json.RawMessage, []byte]{
		Effect: record.Read,
		Table:  recovery.V1,
		Correct: func(context.Context, json.RawMessage, *record.Record) (json.RawMessage, bool, error) {
			if len(corrections) == 0 {
				return nil, false, nil
			}
			next := corrections[0]
			corrections = corrections[1:]
			return next, true, nil
		},
		Authenticate: func(context.Context, *record.Record) (bool, error) {
			return os.Getenv("REMIT_RENEWAL") == "true", nil
		},
	}
}

func correctionsOf(list string) (corrections []json.RawMessage) {
	if err := json.Unmarshal([]byte(list), &corrections); err != nil {
		fmt.Fprintln(os.Stderr, "REMIT_CORRECTIONS:", err)
		os.Exit(2)
	}
	return corrections
}

// post makes one call. Its error is the record in the answer's body.
func post(ctx context.Context, input json.RawMessage) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("REMIT_URL"), bytes.NewReader(input))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if failure := recovery.ClassifyResponse(response.StatusCode, response.Header, body, record.Read, time.Now()); failure != nil {
		return nil, failure
	}
	return body, nil
}
