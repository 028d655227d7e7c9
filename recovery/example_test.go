package recovery_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"remit.example/record"
	"remit.example/recovery"
)

// A read is repeated after the wait that the server asks for.
func ExampleDo() {
	attempts := 0
	deliveryStatus := func(_ context.Context, ref string) (string, error) {
		if attempts++; attempts == 1 {
			wait := int64(1000)
			return "", &record.Record{Code: record.TempUnavailable, RetryAfterMS: &wait}
		}
		return ref + " is in transit", nil
	}

	task := &recovery.Task[string, string]{
		Effect: record.Read,
		Clock:  new(recovery.Simulated), // a program leaves this out
	}
	answer, err := recovery.Do(context.Background(), task, "SHIP-104", deliveryStatus)
	fmt.Println(answer, err)
	// Output: SHIP-104 is in transit <nil>
}

// A caller that can correct its input is asked to, and told what is wrong.
func ExampleDo_correction() {
	deliveryStatus := func(_ context.Context, ref string) (string, error) {
		if ref != "SHIP-104" {
			return "", &record.Record{Code: record.InvalidArgument, Field: "shipment_ref", Message: "Give SHIP- and three digits."}
		}
		return "in transit", nil
	}

	task := &recovery.Task[string, string]{
		Effect: record.Read,
		Correct: func(_ context.Context, ref string, failure *record.Record) (string, bool, error) {
			fmt.Printf("%s: %s\n", failure.Field, failure.Message)
			return "SHIP-104", true, nil
		},
	}
	answer, err := recovery.Do(context.Background(), task, "ship104", deliveryStatus)
	fmt.Println(answer, err)
	// Output:
	// shipment_ref: Give SHIP- and three digits.
	// in transit <nil>
}

// A payment whose answer is lost is not sent again: its status is asked for.
func ExampleDo_unsafe() {
	pay := func(context.Context, int) (string, error) {
		fmt.Println("paying")
		return "", context.DeadlineExceeded // the attempt's own timeout
	}

	task := &recovery.Task[int, string]{
		Clock: new(recovery.Simulated),
		Status: func(context.Context, int, *record.Record) (string, error) {
			return "paid once", nil
		},
	}
	answer, err := recovery.Do(context.Background(), task, 4500, pay)
	fmt.Println(answer, err)
	// Output:
	// paying
	// paid once <nil>
}

// How a task ended is in the error, beside the tool's own.
func ExampleEnded() {
	errFull := errors.New("the disk is full")
	_, err := recovery.Do(context.Background(), nil, "report", func(context.Context, string) (string, error) {
		return "", errFull
	})
	if end, ok := errors.AsType[*recovery.Ended](err); ok {
		fmt.Println(end.Disposition, end.Executions, errors.Is(err, errFull))
	}
	// Output: outcome_unknown 1 true
}

func ExampleTransport() {
	client := http.Client{Transport: &recovery.Transport{}}
	_ = client // GET is repeated after 503; POST only with an Idempotency-Key, or where it was not executed
}

func ExampleRetryAfter() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	fmt.Println(recovery.RetryAfter("120", now))
	fmt.Println(recovery.RetryAfter("Sun, 01 Mar 2026 12:00:30 GMT", now))
	fmt.Println(recovery.RetryAfter("-5", now))
	// Output:
	// 2m0s true
	// 30s true
	// 0s false
}

func ExampleTable_Rule() {
	for _, effect := range record.Effects() {
		rule := recovery.V2.Rule(record.OutcomeUnknown, effect)
		fmt.Printf("%s: %s, else %s\n", effect, rule.Next, rule.Stop)
	}
	// Output:
	// read: wait_and_retry, else retry_exhausted
	// idempotent: wait_and_retry, else retry_exhausted
	// keyed: check_status, else outcome_unknown
	// unsafe: check_status, else outcome_unknown
}
