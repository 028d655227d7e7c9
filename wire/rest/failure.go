package rest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/record"
	"remit.example/tool"
)

// failureView is a typed failure as a person reads it.
type failureView struct {
	Code, Message string
	Next          string // the permitted next action, in words
	Ends          string // the disposition, if nothing changes
	Outcome       string
	Faults        []faultView
	Budget        string // "" where nothing may be repeated
	Wait          string // in words; "" where nobody waits
	WaitMS        int64
	Repeat        string // address of the same request, for after the wait; "" for tools with an effect
	Restart       string // address of the first page, where a cursor no longer holds
	Status        string // of an operation whose outcome can be asked for
}

// faultView is one argument at fault.
type faultView struct {
	Param    string // the form's field; "" where the form has none
	Name     string
	Message  string
	Given    string // what was given instead, of a value of a wrong type
	Accepted string
}

// Href leads to the box of the fault's field, of several to the first.
func (v faultView) Href() string {
	if v.Param == preferencesIn {
		return "#field-" + preferencesIn + "-1"
	}
	return "#field-" + v.Param
}

func failureOf(t *tool.Tool, f *form, request []byte, failure *record.Record) *failureView {
	v := &failureView{
		Code: string(failure.Code), Message: failure.Error(), Next: nextWords[failure.Next],
		Ends: spaced(string(failure.Stop)), Outcome: outcomeWords[failure.Outcome],
	}
	if failure.Code.Known() && failure.Next != record.Stop && failure.Next != record.CheckStatus {
		v.Budget = budgetWords(t, failure)
	}
	if !failure.Code.Known() {
		v.Next = "Stop. No contract says what this code permits, so nothing follows from it."
	}
	marked := 0
	for i, fault := range faultsOf(failure, request) {
		if fault.Name == "" && i == 0 {
			continue // of the whole request; the sentence above says it
		}
		if at := f.field(fault.Param); at == nil || at.Kind == unseen {
			fault.Param = ""
		} else {
			marked++
		}
		v.Faults = append(v.Faults, fault)
	}
	switch {
	case failure.Next == record.CorrectInput && marked == 1:
		v.Next = "Change the marked field and ask again."
	case failure.Next == record.CorrectInput && marked > 1:
		v.Next = "Change the marked fields and ask again."
	}
	if failure.RetryAfterMS != nil {
		v.WaitMS = max(0, *failure.RetryAfterMS)
		v.Wait = waitWords(v.WaitMS)
	}
	if failure.Retryable() && t.Effect == record.Read {
		v.Repeat = f.link(request) // with a fragment, a browser that is there would ask for nothing
	}
	if failure.Next == record.RefreshState && !f.Post {
		v.Restart = f.linkToAnswer(with(request, "cursor", []byte("null")))
	}
	if o := failure.Operation; o != nil {
		v.Status = fmt.Sprintf("Operation %s", o.ID)
		if o.StatusTool != "" {
			v.Status += "; ask the tool " + o.StatusTool
		}
	}
	return v
}

// budgetWords say how much of a task's budget is left. A record of recovery-v1
// does not say, and then the contract does: a page's call is the first.
func budgetWords(t *tool.Tool, failure *record.Record) string {
	budget := record.NewBudget(t.Service.Limit(), 1)
	if failure.Budget != nil {
		budget = *failure.Budget
	}
	return fmt.Sprintf("%d of %d executions of this task are left.", budget.Left, budget.Limit)
}

// waitWords write a wait in one unit, rounded up: nobody is told to come early.
func waitWords(ms int64) string {
	for _, unit := range []struct {
		ms   int64
		name string
	}{{24 * 3_600_000, "days"}, {3_600_000, "hours"}, {60_000, "minutes"}, {1000, "seconds"}} {
		if ms > unit.ms {
			return fmt.Sprintf("%d %s", (ms-1)/unit.ms+1, unit.name)
		}
	}
	if ms == 1000 {
		return "1 second"
	}
	return fmt.Sprintf("%d milliseconds", ms)
}

// faultsOf are the arguments that a failure names. The record's own message is
// that of the first.
func faultsOf(failure *record.Record, request []byte) []faultView {
	if len(failure.Fields) == 0 && failure.Field != "" {
		return []faultView{{Param: paramOf(failure.Field), Name: failure.Field, Message: failure.Message}}
	}
	var list []faultView
	for i, field := range failure.Fields {
		name := dotted(field.Pointer)
		message := field.Message
		if i == 0 {
			message = failure.Message
		}
		if message == "" {
			message = "Valid: " + field.Accepted + "."
		}
		list = append(list, faultView{Param: paramOf(name), Name: name, Message: message, Given: givenWords(field, request), Accepted: field.Accepted})
	}
	return list
}

// givenWords say what a request gives where a value of another type belongs:
// the form's box would show the text "6000" and the number alike.
func givenWords(field record.Field, request []byte) string {
	value, found := jsontext.Value(request), false
	if field.Reason != "wrong_type" || field.In != "" || field.Pointer == "" {
		return ""
	}
	for _, step := range steps(field.Pointer) {
		if value, found = inside(value, step); !found {
			return ""
		}
	}
	return valueWords[value.Kind()] + ": " + clip(string(value))
}

// inside is what an object or a list has by a name or at a place.
func inside(value jsontext.Value, step string) (jsontext.Value, bool) {
	for _, m := range membersOf(value) {
		if m.name == step {
			return m.value, true
		}
	}
	items := itemsOf(value)
	if at, err := strconv.Atoi(step); err == nil && 0 <= at && at < len(items) {
		return items[at], true
	}
	return nil, false
}

var pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")

// steps are the names and places of a JSON Pointer.
func steps(pointer string) []string {
	list := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, step := range list {
		list[i] = pointerUnescape.Replace(step)
	}
	return list
}

// dotted is a JSON Pointer as a dotted path.
func dotted(pointer string) string { return strings.Join(steps(pointer), ".") }

// paramOf is the parameter that holds an argument: all of a list is one.
func paramOf(name string) string {
	if rest, inside := strings.CutPrefix(name, preferencesIn); inside && strings.HasPrefix(rest, ".") {
		return preferencesIn
	}
	return name
}
