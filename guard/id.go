package guard

import (
	"bytes"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// IDKey is the same for two ids, or other values that name something, such as
// progress tokens, if and only if JSON says the same of both: a number by its
// exact value, a text without its quotes. Whoever answers a request may spell
// its id in another way.
func IDKey(id jsontext.Value) string {
	switch id.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, id)
		if err != nil {
			return string(id)
		}
		return `"` + string(text)
	case '0':
		return numberKey(string(id))
	}
	return string(id)
}

// numberKey is a number as digits that neither begin nor end with a zero, and
// the power of ten that they are multiplied by.
func numberKey(number string) string {
	mantissa, negative := strings.CutPrefix(number, "-")
	power := new(big.Int)
	if at := strings.IndexAny(mantissa, "eE"); at >= 0 {
		if len(mantissa)-at > maxPower {
			return number // nobody counts so far
		}
		power.SetString(strings.TrimPrefix(mantissa[at+1:], "+"), 10)
		mantissa = mantissa[:at]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0"
	}
	power.Add(power, big.NewInt(int64(len(digits)-len(significant)-len(fraction))))
	if negative {
		significant = "-" + significant
	}
	return significant + "e" + power.String()
}

// maxPower bounds the digits of a power that is calculated with.
const maxPower = 100

// SameID reports whether two messages have one id, by its value; see [IDKey].
func (m *Message) SameID(other *Message) bool {
	return m.ID != nil && other.ID != nil && (bytes.Equal(m.ID, other.ID) || IDKey(m.ID) == IDKey(other.ID))
}

// With is the bytes of the message with another value in the place of the one
// that the names lead to; false where there is none, or where a member on the
// way is given twice.
func (m *Message) With(value jsontext.Value, names ...string) ([]byte, bool) {
	from, to := 0, len(m.Raw)
	for i, name := range names {
		begin, found := from, false
		err := eachOf(m.Raw[from:to], i > 0, func(member string, value jsontext.Value, at int) error {
			if member == name {
				from, to, found = begin+at, begin+at+len(value), true
			}
			return nil
		})
		if err != nil || !found {
			return nil, false
		}
	}
	return splice(m.Raw, from, to, value), true
}
