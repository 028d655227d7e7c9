package rest

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/contract"
	"remit.example/record"
)

// promise says what an answer of one kind claims and what it does not.
type promise struct{ Does, DoesNot string }

var promises = map[contract.Promise]promise{
	contract.Search: {
		"Every record that meets all of your filters, exactly.",
		"A ranking or a recommendation: the order of the list means nothing.",
	},
	contract.RankPreferences: {
		"The matching records in the order of the preferences that you state; equal ones share a rank.",
		"Which one is best, or suitable for any use.",
	},
	contract.AssessSuitability: {
		"For a declared purpose, which criteria evidence records meet and which evidence is missing.",
		"Anything that no evidence record supports, or a recommendation.",
	},
	contract.Lookup: {
		"The one entry with the identifier that you give.",
		"A guess where there is none, a comparison, or any change.",
	},
	contract.Command: {
		"To do one thing and to say what came of it.",
		"That it succeeds, or that it can be undone.",
	},
}

// effectWords say whether repeating a call is safe.
var effectWords = map[record.Effect]string{
	record.Read:       "Only reads: repeating a call is safe.",
	record.Idempotent: "Has an effect; the same call twice has it once.",
	record.Keyed:      "Has one effect for each operation key.",
	record.Unsafe:     "Has an effect each time: repeating a call is not safe.",
}

// nextWords say what a failure permits, and nothing else.
var nextWords = map[record.Next]string{
	record.CorrectInput: "Change what is wrong and ask again.",
	record.Authenticate: "Authenticate through the application’s approved way, then call once more.",
	record.WaitAndRetry: "Wait, then repeat the request unchanged.",
	record.CheckStatus:  "Ask what became of the operation. Do not call again: it may have taken effect.",
	record.RefreshState: "Read the current state first, then ask anew.",
	record.Stop:         "Stop. Sending the same request again changes nothing.",
}

// valueWords say of what type a JSON value is.
var valueWords = map[jsontext.Kind]string{
	'"': "A text was given", '0': "A number was given", 't': "“Yes” was given", 'f': "“No” was given",
	'n': "Nothing (null) was given", '{': "An object was given", '[': "A list was given",
}

// outcomeWords say what is known of a write's effect.
var outcomeWords = map[record.Outcome]string{
	record.NotApplied: "It took no effect.",
	record.Applied:    "It took effect.",
	record.NotKnown:   "Whether it took effect is not known.",
	record.Partial:    "A part of it took effect.",
}

var unknownWords = map[contract.UnknownPolicy]string{
	contract.UnknownLast:    "come last",
	contract.UnknownExclude: "are left out",
	contract.UnknownReject:  "are refused",
}

var directionWords = map[contract.Direction]string{
	contract.Lowest: "lowest first", contract.Highest: "highest first", contract.TrueFirst: "yes first",
}

// decisionWords say what the evidence says of one criterion.
var decisionWords = map[string]string{
	"met":          "met",
	"not_met":      "not met",
	"missing":      "missing: no active record has this property",
	"expired":      "expired: every accepted record is too old or past its validity",
	"out_of_scope": "out of scope: the method says nothing about this item",
	"indirect":     "indirect: no record of an accepted level, method and scope",
	"conflicting":  "conflicting: valid records decide differently",
	"undecided":    "undecided: the uncertainty straddles the limit",
}

// verdictWords are the verdicts, in the order in which they are counted.
var verdictWords = []struct{ verdict, words string }{
	{"suitable", "suitable: every criterion is met"},
	{"unsuitable", "unsuitable: a criterion is not met"},
	{"insufficient_evidence", "insufficient evidence: neither is established"},
}

// unitSigns are the signs of common codes of UN/CEFACT Recommendation 20.
var unitSigns = map[string]string{
	"KEL": "K", "CEL": "°C", "LUM": "lm", "LUX": "lx", "CDL": "cd", "WTT": "W", "KWT": "kW", "WHR": "Wh", "KWH": "kWh",
	"VLT": "V", "AMP": "A", "HTZ": "Hz", "MMT": "mm", "CMT": "cm", "MTR": "m", "KMT": "km", "MTK": "m²", "GRM": "g",
	"KGM": "kg", "MLT": "ml", "LTR": "l", "SEC": "s", "MIN": "min", "HUR": "h", "DAY": "d", "P1": "%", "C62": "",
}

func unitWords(code string) string {
	if sign, known := unitSigns[code]; known {
		return sign
	}
	return code
}

// spaced is a name of the contract as words.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// capital begins a text with a capital letter.
func capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(first)) + text[size:]
}

// columnWords is the noun of a column.
func columnWords(c *contract.Contract, name string) string {
	if column, ok := c.Columns.Get(name); ok && column.Label != nil && column.Label.Name != "" {
		return column.Label.Name
	}
	return spaced(name)
}

func preferenceWords(c *contract.Contract, p contract.Preference) string {
	return columnWords(c, p.Column) + ", " + directionWords[p.Direction]
}

func purposeWords(name string, p *contract.Purpose) string {
	if p.Label != "" {
		return p.Label
	}
	return spaced(name)
}

// count writes a number of things.
func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return itoa(n) + " " + several
}

// joined is "a", "a and b", "a, b and c".
func joined(texts []string) string {
	if len(texts) < 2 {
		return strings.Join(texts, "")
	}
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}
