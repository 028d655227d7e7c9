package main

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"remit.example/oracle"
)

const ordersContract = "../../examples/orders"

// ordersProgram is examples/orders, built for one test.
func ordersProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "orders")
	if out, err := exec.Command("go", "build", "-o", program, ordersContract).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// servesAt runs a server until the test ends, and gives the address that it
// prints.
func servesAt(t *testing.T, args ...string) (address string) {
	t.Helper()
	command := exec.Command(args[0], args[1:]...)
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if at := strings.Index(lines.Text(), "http://"); at >= 0 {
			go func() {
				for lines.Scan() { // so that it can go on writing
				}
			}()
			return lines.Text()[at:]
		}
	}
	t.Fatalf("%s printed no address", args[0])
	return ""
}

// keyedWrites are those of the orders, each after what it needs.
var keyedWrites = []string{
	"--write", `place_order {"customer":"C1","reference":"PO-1","item":"lamp","quantity":1} {"customer":"C1","reference":"PO-2","item":"bulb","quantity":4}`,
	"--effects", `place_order=get_order {"customer":"C1"} /orders`,
	"--write", `cancel_order {"order":"ord_1"} {"order":"ord_2"}`, "--effects", `cancel_order=get_order {"customer":"C1"} /cancellations`,
	"--write", `refund_order {"order":"ord_1"} {"order":"ord_2"}`, "--effects", `refund_order=get_order {"customer":"C1"} /refunds`,
}

// unsafeWrite is the one without a key, of the order that was placed first.
var unsafeWrite = []string{
	"--write", `place_order {"customer":"C1","reference":"PO-1","item":"lamp","quantity":1}`, "--effects", `place_order=get_order {"customer":"C1"} /orders`,
	"--write", `notify_customer {"order":"ord_1","text":"Shipped."} {"order":"ord_1","text":"Paid."}`, "--effects", `notify_customer=get_order {"order":"ord_1"} /messages`,
}

// TestOrders loses answers of the orders, with and without a guard in front.
func TestOrders(t *testing.T) {
	program := ordersProgram(t)
	remit, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unguarded := map[string]int{"live-repetition": 1, "live-once": 1}
	for _, c := range []struct {
		name          string
		guard, listen bool
		writes        []string
		lost          string // what the service is told; "": the check loses the answer itself
		failed        map[string]int
		least         int // passed; a guard that is asked again early names an operation, whose status is judged too
	}{
		{"killed", false, false, keyedWrites, "", nil, 15},
		{"closed", false, true, keyedWrites, "", nil, 15},
		{"lost after the effect", false, false, keyedWrites, "after", nil, 15},
		{"lost before the effect", false, true, keyedWrites, "before", nil, 15},
		{"unsafe", false, false, unsafeWrite, "after", unguarded, 4},
		{"unsafe over HTTP", false, true, unsafeWrite, "after", unguarded, 4},
		{"guarded over HTTP", true, true, keyedWrites, "after", nil, 12},
		{"guarded, closed", true, true, keyedWrites, "", nil, 12},
		{"guarded", true, false, unsafeWrite, "after", nil, 6},
		{"guarded over HTTP, unsafe", true, true, unsafeWrite, "", nil, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			lose := filepath.Join(folder, "lose")
			args := []string{"--live", ordersContract, "--patience", "1s"}
			if c.lost != "" {
				args = append(args, "--provoke", "lost=echo "+c.lost+" > '"+lose+"'")
			}
			args = append(args, c.writes...)
			server := []string{program, "--db", filepath.Join(folder, "orders.db"), "--lose-on", lose}
			guard := []string{remit, "guard", "--contract", ordersContract + "/contract.yaml", "--state", "sqlite:" + filepath.Join(folder, "guard.db")}
			switch {
			case c.listen:
				address := servesAt(t, append(server, "--listen", "127.0.0.1:0")...)
				if c.guard {
					address = servesAt(t, append(guard, "--listen", "127.0.0.1:0", "--upstream", address)...)
				}
				args = append(args, "--mcp", address)
			case c.guard:
				args = append(append(append(append(args, "--"), guard...), "--"), append(server, "--stdio")...)
			default:
				args = append(append(append(args, "--"), server...), "--stdio")
			}
			exit := exitOK
			if c.failed != nil {
				exit = exitFailure
			}
			r, text := provokeLive(t, exit, args...)
			s := r.Suites[0]
			if s.Cases.Passed < c.least || !maps.Equal(s.FailedBy, c.failed) && len(s.FailedBy)+len(c.failed) > 0 || r.Subject != oracle.Application {
				t.Errorf("%+v: %s", s.Cases, text)
			}
		})
	}
}
