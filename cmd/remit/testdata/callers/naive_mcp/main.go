// Command naive_mcp is a caller that any agent loop may be: it calls the tool
// up to five times until the result is no error, waits for nothing and reads no
// failure. Its client is the official one.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const attempts = 5

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "naive", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Getenv("REMIT_URL")}, nil)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	input := json.RawMessage(os.Getenv("REMIT_INPUT"))
	for range attempts {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "delivery_status", Arguments: input})
		if err != nil {
			return err
		}
		if !result.IsError {
			return nil
		}
	}
	return fmt.Errorf("no answer after %d attempts", attempts)
}
