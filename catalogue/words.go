package catalogue

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// WordsOf splits a text into its words: the longest runs of letters, marks
// and digits, in Unicode case folding (full) and NFC. Two texts share a word
// exactly when a string occurs in the WordsOf of both.
func WordsOf(text string) []string {
	folded := norm.NFC.String(cases.Fold().String(norm.NFC.String(text)))
	return strings.FieldsFunc(folded, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
}
