package oracle

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON writes the report for machines, as one object.
func (r *Report) JSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, value any) error {
	return json.MarshalWrite(w, value, jsontext.WithIndent("  "), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// SARIF writes the failed cases as SARIF 2.1.0, one result a finding. A case
// is a logical location: SUITE/CASE. A void run is an invocation that was not
// successful, with its reasons as notifications.
func (r *Report) SARIF(w io.Writer) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "remit check", Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: r.Verdict != VoidRun, ExitCode: r.Exit(), Notifications: []sarifNotification{}}},
		Results:     []sarifResult{},
	}
	known := map[string]bool{}
	for _, s := range r.Suites {
		for _, fault := range s.Void {
			run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"error", sarifText{s.Name + ": " + fault}})
		}
		for _, failure := range s.Failures {
			for _, f := range failure.Findings {
				if !known[f.Rule] {
					known[f.Rule] = true
					run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.Rule, sarifText{f.Clause}})
				}
				run.Results = append(run.Results, sarifResult{
					RuleID: f.Rule, Level: "error", Message: sarifText{failure.Case + ": " + f.where()},
					Locations:  []sarifLocation{{[]sarifLogical{{Name: failure.Case, FullName: s.Name + "/" + failure.Case}}}},
					Properties: map[string]any{"expected": f.Expected, "got": f.Got, "execution": f.Execution, "why": failure.Why},
				})
			}
		}
	}
	return writeJSON(w, sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

// The parts of SARIF 2.1.0 (OASIS Standard, 27 March 2020) that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string    `json:"id"`
		Short sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		ExitCode            int                 `json:"exitCode"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID     string          `json:"ruleId"`
		Level      string          `json:"level"`
		Message    sarifText       `json:"message"`
		Locations  []sarifLocation `json:"locations"`
		Properties map[string]any  `json:"properties"`
	}
	sarifLocation struct {
		Logical []sarifLogical `json:"logicalLocations"`
	}
	sarifLogical struct {
		Name     string `json:"name"`
		FullName string `json:"fullyQualifiedName"`
	}
)
