package oracle

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// splitter takes a text apart into clauses.
type splitter struct {
	text     string
	at       int
	names    [][2]string
	out      []phrase
	now      phrase
	sentence int
	began    int // the place where the sentence began
	quoted   bool
	line     bool // nothing but white space stands before, on this line
}

// phrases takes a text apart. Names are written as in [lexicon].
func phrases(text string, names [][2]string) []phrase {
	s := &splitter{text: text, names: names, line: true}
	for s.at < len(text) {
		s.next()
	}
	s.endSentence(false)
	return s.out
}

// next takes one word or one mark.
func (s *splitter) next() {
	rest := s.text[s.at:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == '\n':
		s.at += size
		s.endSentence(false)
		s.line = true
		return
	case unicode.IsSpace(r) || strings.ContainsRune("*_`", r):
		s.at += size
		return
	case s.line && (r == '-' || r == '•'):
		s.at += size
		return
	case s.numeral(rest), s.name(rest):
		s.line = false
		return
	}
	s.line = false
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		s.word(rest)
		return
	}
	s.at += size
	s.mark(r)
}

// numeral takes the number of a list's entry: "2." or "2)" at the beginning of
// a line gives a place.
func (s *splitter) numeral(rest string) bool {
	if !s.line {
		return false
	}
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if digits == 0 || digits+1 >= len(rest) || !strings.ContainsRune(".)", rune(rest[digits])) || rest[digits+1] != ' ' {
		return false
	}
	is := follows
	if rest[:digits] == "1" {
		is = leads
	}
	s.at += digits + 1
	s.add(word{text: rest[:digits+1], is: is})
	return true
}

// name takes the name or the id of an item.
func (s *splitter) name(rest string) bool {
	size, id := s.named(rest)
	if size == 0 {
		return false
	}
	s.at += size
	for _, ending := range []string{"'s", "’s"} {
		if strings.HasPrefix(s.text[s.at:], ending) {
			s.at += len(ending)
		}
	}
	s.add(word{text: rest[:size], group: []string{id}})
	return true
}

// named is the item whose name or id stands here, as whole words, and how many
// bytes they have; 0 if none does. An id is written in its own case, a name in
// any.
func (s *splitter) named(rest string) (size int, id string) {
	for _, n := range s.names {
		if len(rest) < len(n[0]) || !(rest[:len(n[0])] == n[0] || n[0] != n[1] && strings.EqualFold(rest[:len(n[0])], n[0])) {
			continue
		}
		after, _ := utf8.DecodeRuneInString(rest[len(n[0]):])
		before, _ := utf8.DecodeLastRuneInString(s.text[:len(s.text)-len(rest)])
		if part(after) || part(before) || n[0] == "A" && s.article(rest[1:]) {
			continue
		}
		return len(n[0]), n[1]
	}
	return 0, ""
}

// part reports whether a character belongs to a word.
func part(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_'
}

// article reports whether A is the article: at the beginning of a clause,
// before a word that follows articles.
func (s *splitter) article(rest string) bool {
	fields := strings.FieldsFunc(rest, func(r rune) bool { return !part(r) })
	return len(s.now.words) == 0 && len(fields) > 0 && strings.HasPrefix(rest, " ") && slices.Contains(afterArticle, fields[0])
}

// word takes a word: letters and digits, with hyphens and apostrophes between
// them, and with points and commas between digits.
func (s *splitter) word(rest string) {
	end := 0
	for end < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[end:])
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			next, _ := utf8.DecodeRuneInString(rest[end+size:])
			last := rest[max(0, end-1)]
			inWord := strings.ContainsRune("-'’", r) && unicode.IsLetter(next)
			inNumber := strings.ContainsRune(".,", r) && unicode.IsDigit(next) && last >= '0' && last <= '9'
			if !inWord && !inNumber {
				break
			}
		}
		end += size
	}
	s.at += end
	text := strings.ReplaceAll(strings.ToLower(rest[:end]), "’", "'")
	w := word{text: text, is: classes[text]}
	if strings.HasSuffix(text, "n't") {
		w.is = negates
	}
	w.number = strings.Trim(text, "0123456789.,") == ""
	if w.is == 0 && strings.Contains(text, "-") {
		w.is = hyphenated(text)
	}
	if w.is&separates != 0 && !s.quoted && !s.joins() {
		s.endClause()
		return
	}
	s.add(w)
}

// hyphenated is known where all parts are, and no part says what a place or an
// affirmation does.
func hyphenated(text string) class {
	for _, each := range strings.Split(text, "-") {
		if classes[each]&known == 0 && classes[each]&leads == 0 {
			return 0
		}
	}
	return known
}

// joins reports whether a separating word or mark stands between two items.
func (s *splitter) joins() bool {
	n := len(s.now.words)
	if n == 0 || s.now.words[n-1].group == nil || s.now.words[n-1].full {
		return false
	}
	for at := s.at; at < len(s.text); {
		rest := s.text[at:]
		r, size := utf8.DecodeRuneInString(rest)
		field, _, _ := strings.Cut(rest, " ")
		switch {
		case unicode.IsSpace(r) && r != '\n' || strings.ContainsRune(",/&*_`", r):
			at += size
		case field == "and" || field == "or":
			at += len(field)
		default:
			size, _ := s.named(rest)
			return size > 0
		}
	}
	return false
}

// mark takes a mark.
func (s *splitter) mark(r rune) {
	switch {
	case strings.ContainsRune("\"“”«»„", r):
		s.quoted = !s.quoted
	case r == '.' || r == '!':
		s.endSentence(false)
	case r == '?':
		s.endSentence(true)
	case strings.ContainsRune(",/&", r):
		if !s.joins() && !s.quoted {
			s.endClause()
		}
	case strings.ContainsRune(";:()[]–—-…'’", r):
		if !s.quoted {
			s.endClause()
		}
	default:
		s.add(word{text: string(r)})
	}
}

// add takes a word into the clause; an item joins the group before it.
func (s *splitter) add(w word) {
	w.quoted = s.quoted
	n := len(s.now.words)
	if w.group != nil && n > 0 {
		last := &s.now.words[n-1]
		if last.group != nil && last.quoted == w.quoted {
			last.group = append(slices.Clone(last.group), w.group...)
			return
		}
	}
	if s.orBetween(w) {
		s.now.words[n-2].group = append(slices.Clone(s.now.words[n-2].group), w.group...)
		s.now.words[n-2].full = true
		s.now.words = s.now.words[:n-1]
		return
	}
	s.now.words = append(s.now.words, w)
}

// orBetween reports whether a word names an item after "X or", or "X and"
// which joined.
func (s *splitter) orBetween(w word) bool {
	n := len(s.now.words)
	return w.group != nil && n > 1 && s.now.words[n-2].group != nil && slices.Contains([]string{"or", "and"}, s.now.words[n-1].text)
}

func (s *splitter) endClause() {
	if len(s.now.words) == 0 {
		return
	}
	s.now.sentence = s.sentence
	s.out = append(s.out, s.now)
	s.now = phrase{}
}

// endSentence ends the sentence, whose clauses are shown by it whole.
func (s *splitter) endSentence(question bool) {
	if s.quoted && s.at < len(s.text) && !strings.HasSuffix(s.text[:s.at], "\n") {
		return // the sentence goes on after the quotation
	}
	s.quoted = false
	s.endClause()
	shown := strings.TrimSpace(s.text[s.began:s.at])
	for i := range s.out {
		if s.out[i].sentence == s.sentence {
			s.out[i].question, s.out[i].text = question, shown
		}
	}
	s.sentence++
	s.began = s.at
}
