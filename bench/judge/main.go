// Command judge times the evaluator on generated cases of recovery-v1, beside
// jq, which only reads and writes the same lines again.
//
// One result line in ten differs from the oracle, each in one member. Both
// programs run on one core, in turn, each round in a process of its own; the
// evaluator's time is from the first result line to the verdict, without that
// of reading the suite, and jq's is that of its process.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"remit.example/oracle"
)

func main() {
	lines := flag.Int("lines", 1_000_000, "result lines, at least 3")
	rounds := flag.Int("rounds", 7, "timed rounds of both")
	folder := flag.String("judge", "", "judge the files in this folder once and print the nanoseconds; used by the command itself")
	flag.Parse()
	err := error(nil)
	if *folder != "" {
		err = judge(*folder)
	} else {
		err = run(*lines, *rounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

const (
	suiteFile   = "suite.json"
	resultsFile = "results.jsonl"
	failedFile  = "failed"
)

func run(lines, rounds int) error {
	folder, err := os.MkdirTemp("", "judge")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	size, err := generate(folder, lines)
	if err != nil {
		return err
	}
	fmt.Printf("%d result lines, %.0f MB, one in ten differs; %d rounds, %s %s/%s, one core\n\n",
		lines, float64(size)/1e6, rounds, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	var ours, theirs []time.Duration
	for range rounds {
		took, err := timeJudge(folder)
		if err != nil {
			return err
		}
		ours = append(ours, took)
		if took, err = timeJQ(folder); err != nil {
			return err
		}
		theirs = append(theirs, took)
	}
	fmt.Printf("%-12s %12s %20s %8s\n", "", "median", "min … max", "MB/s")
	a, b := report("remit check", ours, size), report("jq -c .", theirs, size)
	fmt.Printf("\njq/remit %.1f\n", float64(b)/float64(a))
	return nil
}

func report(name string, took []time.Duration, size int) (median time.Duration) {
	slices.Sort(took)
	median = took[len(took)/2]
	fmt.Printf("%-12s %10.2f s %8.2f … %7.2f s %8.0f\n", name, median.Seconds(), took[0].Seconds(), took[len(took)-1].Seconds(), float64(size)/1e6/median.Seconds())
	return median
}

// timeJudge runs the command once more, to judge on one core.
func timeJudge(folder string) (time.Duration, error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.Command(program, "-judge", folder)
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Duration(ns), err
}

func timeJQ(folder string) (time.Duration, error) {
	command := exec.Command("jq", "-c", ".", filepath.Join(folder, resultsFile)) // its output goes to the null device
	begin := time.Now()
	err := command.Run()
	return time.Since(begin), err
}

func judge(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, suiteFile))
	if err != nil {
		return err
	}
	suite, err := oracle.Parse(suiteFile, text)
	if err != nil {
		return err
	}
	if faults := suite.Lint(); len(faults) > 0 {
		return errors.New(faults[0])
	}
	want, err := os.ReadFile(filepath.Join(folder, failedFile))
	if err != nil {
		return err
	}
	runtime.GC()
	results, err := os.Open(filepath.Join(folder, resultsFile))
	if err != nil {
		return err
	}
	defer results.Close()
	begin := time.Now()
	outcome, err := suite.Judge(results)
	took := time.Since(begin)
	if err != nil {
		return err
	}
	if got := strconv.Itoa(outcome.Failed); got != string(want) || len(outcome.Void) > 0 {
		return fmt.Errorf("%s cases failed and %s differ; void: %q", got, want, outcome.Void)
	}
	fmt.Println(took.Nanoseconds())
	return nil
}

// generate writes a suite, results of which one line in ten differs, and how
// many cases that makes fail; size is that of the results in bytes.
func generate(folder string, lines int) (size int, err error) {
	g := generator{cases: sha256.New(), oracle: sha256.New()}
	for g.lines < lines {
		g.next(min(1+g.made%3, lines-g.lines))
	}
	g.oracle.Write(g.records.Bytes())
	header := fmt.Sprintf(`{"suite":"generated","version":"1","contract":"recovery-v1","sha256":%q,"oracle_sha256":%q,"controls":[%s],"cases":[`,
		hex.EncodeToString(g.cases.Sum(nil)), hex.EncodeToString(g.oracle.Sum(nil)),
		`{"name":"late","rule":"late","case":"case-0000000","why":"The execution is late.","results":[`+execution("case-0000000", 1, 1, 1)+`]}`)
	for name, parts := range map[string][][]byte{
		suiteFile:   {[]byte(header), bytes.TrimSuffix(g.suite.Bytes(), []byte(",")), []byte("]}")},
		resultsFile: {g.results.Bytes()},
		failedFile:  {[]byte(strconv.Itoa(g.failed))},
	} {
		if err := write(filepath.Join(folder, name), parts); err != nil {
			return 0, err
		}
	}
	return g.results.Len(), nil
}

func write(name string, parts [][]byte) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriter(file)
	for _, part := range parts {
		buffered.Write(part) // Flush reports what goes wrong
	}
	return buffered.Flush()
}

// hasher is what sums are made of.
type hasher interface {
	Write(p []byte) (int, error)
	Sum(b []byte) []byte
}

type generator struct {
	made, lines, failed     int
	suite, results, records bytes.Buffer
	cases, oracle           hasher
}

// next makes a case with so many executions: a dependency that is unavailable
// until the last.
func (g *generator) next(executions int) {
	name := fmt.Sprintf("case-%07d", g.made)
	responses := strings.Repeat(`"TEMP_UNAVAILABLE",`, executions-1) + `"OK"`
	given := fmt.Sprintf(`{"case":%q,"input":{"shipment_ref":"SHIP-104"},"auth_ok":true,"allowed":true,"responses":[%s],"correction":null,"renewal":false}`, name, responses)
	fmt.Fprintf(g.cases, "%s\n", given)
	var traces, records []string
	failed := false
	for n := 1; n <= executions; n++ {
		line := execution(name, n, executions, 0)
		traces = append(traces, line)
		fmt.Fprintf(g.oracle, "%s\n", line)
		code, wait := codeOf(n, executions)
		record := fmt.Sprintf(`{"case":%q,"execution":%d,"record":{"code":%q,"field":null,"retry_after_ms":%s},"message_names":[]}`, name, n, code, wait)
		records = append(records, record)
		fmt.Fprintf(&g.records, "%s\n", record)
		if g.lines++; g.lines%10 == 0 {
			line, failed = differing(g.lines, name, n, executions), true
		}
		g.results.WriteString(line + "\n")
	}
	if failed {
		g.failed++
	}
	fmt.Fprintf(&g.suite, `{"why":"The dependency answers execution %d.","clause":"recovery-v1, decision table","case":%s,"oracle":[%s],"records":[%s]},`,
		executions, given, strings.Join(traces, ","), strings.Join(records, ","))
	g.made++
}

func codeOf(n, executions int) (code, wait string) {
	if n < executions {
		return "TEMP_UNAVAILABLE", "1000"
	}
	return "OK", "null"
}

// execution is one line of a trace, shifted by so many milliseconds.
func execution(name string, n, executions, shift int) string {
	code, _ := codeOf(n, executions)
	action, disposition := "wait_and_retry", "null"
	if code == "OK" {
		action, disposition = "complete", `"success"`
	}
	return fmt.Sprintf(`{"case":%q,"execution":%d,"input":{"shipment_ref":"SHIP-104"},"auth_ok":true,"code":%q,"action":%q,"at_ms":%d,"disposition":%s}`,
		name, n, code, action, 1000*(n-1)+shift, disposition)
}

// differing is a line that is wrong in one of four ways.
func differing(i int, name string, n, executions int) string {
	line := execution(name, n, executions, 0)
	switch i / 10 % 4 {
	case 0:
		return execution(name, n, executions, 1)
	case 1:
		return strings.Replace(line, `"auth_ok":true`, `"auth_ok":false`, 1)
	case 2:
		return strings.Replace(line, "SHIP-104", "SHIP-105", 1)
	}
	return strings.Replace(line, `"at_ms":`, `"at_ms": `, 1)
}
