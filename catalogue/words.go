package catalogue

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// WordsOf splits a text into its words: the longest runs of letters, marks
// and digits, of which case and composition make no difference (canonical
// caseless matching, The Unicode Standard, definition D145), in NFC. Two texts
// share a word exactly when a string occurs in the WordsOf of both.
func WordsOf(text string) []string {
	if isASCII(text) {
		// Most texts are, and then lower case is all of it.
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})
	}
	folded := cases.Fold().String(norm.NFD.String(text))
	return strings.FieldsFunc(norm.NFC.String(strings.Map(foldCherokee, folded)), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldCherokee mends the one script whose letters fold to capitals: x/text
// folds its capitals to small letters and its small letters to capitals.
func foldCherokee(r rune) rune {
	if unicode.Is(unicode.Cherokee, r) {
		return unicode.ToUpper(r)
	}
	return r
}
