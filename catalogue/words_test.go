package catalogue_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"remit.example/catalogue"
)

func TestWordsOf(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		" -- ":                  nil,
		"LED Lamp, E27 (warm)":  {"led", "lamp", "e27", "warm"},
		"2,700 K":               {"2", "700", "k"},
		"snake_case it's":       {"snake", "case", "it", "s"},
		"Straße STRASSE straẞe": {"strasse", "strasse", "strasse"},
		"ﬁtting":                {"fitting"},
		"ΣΊΣΥΦΟΣ σίσυφος":       {"σίσυφοσ", "σίσυφοσ"},
		"Caf\u00e9 CAFE\u0301":  {"café", "café"},
		"cafe":                  {"cafe"},
		"İstanbul":              {"i\u0307stanbul"}, // full folding keeps the dot
		"Istanbul ıstanbul":     {"istanbul", "ıstanbul"},
		"हिन्दी":                {"हिन्दी"}, // marks belong to the word
		"½ ² Ⅷ":                 {"½", "²", "ⅷ"},
		"灯具 ランプ":                {"灯具", "ランプ"},
		"ᎣᏏᏲ ꭳꮟᏺ":               {"ᎣᏏᏲ", "ᎣᏏᏲ"},
		// Two orders of the same marks are one text.
		"\u03b1\u0345\u0301 \u03b1\u0301\u0345": {"\u03ac\u03b9", "\u03ac\u03b9"},
	} {
		if got := catalogue.WordsOf(text); !slices.Equal(got, want) {
			t.Errorf("WordsOf(%q) = %+q, want %+q", text, got, want)
		}
	}
}

// TestWordsOfASCII compares with the definition, letter by letter.
func TestWordsOfASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom(nil, &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0, Hi: 127, Stride: 1}}})).Draw(t, "text")
		letters := strings.Map(func(r rune) rune {
			if r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return unicode.ToLower(r)
			}
			return ' '
		}, text)
		if got, want := catalogue.WordsOf(text), strings.Fields(letters); !slices.Equal(got, want) {
			t.Fatalf("WordsOf(%q) = %q, want %q", text, got, want)
		}
	})
}

// TestWordsOfWords says that a word is its own word, however it is composed.
func TestWordsOfWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, word := range catalogue.WordsOf(rapid.String().Draw(t, "text")) {
			if again := catalogue.WordsOf(word); !slices.Equal(again, []string{word}) {
				t.Fatalf("WordsOf(%+q) = %+q", word, again)
			}
		}
	})
}
