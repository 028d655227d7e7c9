package catalogue

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// WordsOf splits a text into its words: the longest runs of letters, marks
// and digits, of which case and composition make no difference (canonical
// caseless matching, The Unicode Standard, definition D145), in NFC. Two texts
// share a word exactly when a string occurs in the WordsOf of both.
func WordsOf(text string) []string {
	folded := cases.Fold().String(norm.NFD.String(text))
	return strings.FieldsFunc(norm.NFC.String(strings.Map(foldCherokee, folded)), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
}

// foldCherokee mends the one script whose letters fold to capitals: x/text
// folds its capitals to small letters and its small letters to capitals.
func foldCherokee(r rune) rune {
	if unicode.Is(unicode.Cherokee, r) {
		return unicode.ToUpper(r)
	}
	return r
}
