package contract

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Number is an exact decimal. It keeps the text that it was read from, so
// that 100.0 is printed as 100.0.
type Number struct {
	text string
	rat  *big.Rat
}

var decimalText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// maxNumberText bounds the digits of a Number, sign and point included.
const maxNumberText = 40

// ParseNumber reads a decimal such as -0.0054: digits with an optional sign
// and fraction, no exponent, at most 40 characters.
func ParseNumber(text string) (Number, error) {
	if len(text) > maxNumberText {
		return Number{}, fmt.Errorf("%.20s… has over %d characters", text, maxNumberText)
	}
	if !decimalText.MatchString(text) {
		return Number{}, fmt.Errorf("%s is not a decimal number such as 90 or -0.0054", shown(text))
	}
	rat, ok := new(big.Rat).SetString(text)
	if !ok {
		return Number{}, errors.New("not a number")
	}
	return Number{text: text, rat: rat}, nil
}

// String is the text that the number was read from.
func (n Number) String() string { return n.text }

// Cmp is negative, 0 or positive as n is less than, equal to or more than m.
func (n Number) Cmp(m Number) int { return n.Rat().Cmp(m.Rat()) }

// Rat is the number's exact value, a copy; the zero Number is 0.
func (n Number) Rat() *big.Rat {
	if n.rat == nil {
		return new(big.Rat)
	}
	return new(big.Rat).Set(n.rat)
}

// given reports whether there is a number, and it could be read.
func (n *Number) given() bool { return n != nil && n.rat != nil }

// whole reports whether the number is written without a fraction, and is one
// that every JSON reader keeps exactly.
func (n Number) whole() bool {
	value, whole := n.Scaled(0)
	return whole && !strings.Contains(n.text, ".") && value <= maxExact && value >= -maxExact
}

// maxExact is the largest whole number that every JSON reader keeps exactly.
const maxExact = 1<<53 - 1

// Scaled is n × 10^digits, and whether that is a whole number within the
// range of an int64.
func (n Number) Scaled(digits int) (int64, bool) {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	scaled := new(big.Rat).Mul(n.Rat(), new(big.Rat).SetInt(power))
	if !scaled.IsInt() || !scaled.Num().IsInt64() {
		return 0, false
	}
	return scaled.Num().Int64(), true
}

// FormatScaled writes value / 10^digits with exactly that many decimals.
func FormatScaled(value int64, digits int) string {
	sign, text := "", fmt.Sprint(value)
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	if digits == 0 {
		return sign + text
	}
	if missing := digits + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	return sign + text[:len(text)-digits] + "." + text[len(text)-digits:]
}
