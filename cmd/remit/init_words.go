package main

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// hints are words of headers, folded as headerWords gives them, that suggest
// what a column is. A hint never decides alone: the values must fit too, and
// what it suggests is said as a question.
var hints = map[string][]string{
	"id":    {"id", "sku", "ean", "gtin", "upc", "asin", "isbn", "mpn", "handle", "code", "artikelnummer", "artikelnr", "ref", "reference", "referenz", "nr", "no", "number", "barcode"},
	"text":  {"ean", "gtin", "upc", "isbn", "mpn", "sku", "id", "barcode", "zip", "postcode", "plz", "phone", "artikelnummer", "artikelnr", "code"},
	"money": {"price", "preis", "prix", "precio", "prezzo", "prijs", "pris", "cena", "msrp", "rrp", "uvp", "cost", "amount"},
	"stock": {"stock", "stocked", "availability", "available", "inventory", "qty", "quantity", "bestand", "lager", "lagernd", "verfuegbar", "verfuegbarkeit", "lieferbar", "disponible", "disponibilite", "voorraad"},
	"title": {"title", "name", "titel", "bezeichnung", "nom", "titre", "nombre", "product", "produkt", "produit", "artikel"},
	"link":  {"link", "url", "href", "permalink", "page", "seite"},
	"image": {"image", "images", "img", "picture", "photo", "bild", "thumbnail"},
	"cost":  {"cost", "einkauf", "ek"},
}

// hinted reports whether the header has one of a hint's words.
func hinted(header, hint string) bool {
	return hintRank(header, hint) < len(hints[hint])
}

// hintRank is the place of the first of a hint's words that the header has, or
// their number.
func hintRank(header, hint string) int {
	rank := len(hints[hint])
	for _, word := range headerWords(header) {
		if i := slices.Index(hints[hint], word); i >= 0 {
			rank = min(rank, i)
		}
	}
	return rank
}

// booleanPairs are texts for true and false that belong together, in lower
// case. The file's own spelling is what the contract declares.
var booleanPairs = []struct{ yes, no []string }{
	{[]string{"yes"}, []string{"no"}},
	{[]string{"true"}, []string{"false"}},
	{[]string{"y"}, []string{"n"}},
	{[]string{"ja"}, []string{"nein", "nee"}},
	{[]string{"oui"}, []string{"non"}},
	{[]string{"sí", "si"}, []string{"no"}},
	{[]string{"on"}, []string{"off"}},
	{[]string{"in stock", "in_stock", "instock", "available"}, []string{"out of stock", "out_of_stock", "outofstock", "sold out", "unavailable"}},
	{[]string{"1"}, []string{"0"}},
}

// missingTexts are texts that often stand for a value that is not known, in
// lower case.
var missingTexts = []string{"n/a", "na", "n.a.", "-", "–", "—", "null", "none", "nil", "unknown", "unbekannt", "k.a.", "?", "#n/a", "tbd"}

// unitNames are units as headers write them, with their codes in UN/CEFACT
// Recommendation 20.
var unitNames = map[string]string{
	"g": "GRM", "gram": "GRM", "grams": "GRM", "kg": "KGM", "mg": "MGM", "lb": "LBR", "lbs": "LBR", "oz": "ONZ",
	"mm": "MMT", "cm": "CMT", "m": "MTR", "inch": "INH", "inches": "INH", "ft": "FOT",
	"ml": "MLT", "l": "LTR", "litre": "LTR", "liter": "LTR",
	"w": "WTT", "watt": "WTT", "watts": "WTT", "kw": "KWT", "kwh": "KWH", "v": "VLT", "volt": "VLT", "a": "AMP", "mah": "E09",
	"lm": "LUM", "lumen": "LUM", "lumens": "LUM", "lux": "LUX", "k": "KEL", "kelvin": "KEL",
	"min": "MIN", "minutes": "MIN", "h": "HUR", "hours": "HUR", "days": "DAY",
}

// commonCurrencies are the codes that a header may state in small letters: most
// others are words as well, such as cup and pen.
var commonCurrencies = []string{"EUR", "USD", "GBP", "CHF", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "AUD", "NZD", "CNY", "INR", "BRL"}

// currencySigns are signs that name one currency. $ names many.
var currencySigns = map[rune]string{'€': "EUR", '£': "GBP", '₹': "INR", '₪': "ILS", '₩': "KRW", '₺': "TRY", '₴': "UAH", '₫': "VND", '₦': "NGN"}

// plainLetters writes letters without their marks, where a mark is a letter of
// its own.
var plainLetters = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "ø", "oe", "æ", "ae", "œ", "oe", "å", "aa", "ł", "l", "đ", "d")

// headerWords are the words of a header in lower case and without marks:
// "Preis (EUR)" has preis and eur, "inStock" has in and stock.
func headerWords(header string) []string {
	var spaced strings.Builder
	small := false
	for _, r := range header {
		if unicode.IsUpper(r) && small {
			spaced.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		spaced.WriteRune(unicode.ToLower(r))
	}
	plain := plainLetters.Replace(norm.NFC.String(spaced.String()))
	var letters strings.Builder
	for _, r := range norm.NFD.String(plain) {
		if !unicode.Is(unicode.Mn, r) {
			letters.WriteRune(r)
		}
	}
	return strings.FieldsFunc(letters.String(), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// columnNameOf is a valid name for a column of this header.
func columnNameOf(header string, taken map[string]bool) string {
	const most = 56 // with room for a number
	name := strings.Join(headerWords(header), "_")
	noText := slices.Contains([]string{"true", "false", "null"}, name) // to YAML
	if name == "" || name[0] >= '0' && name[0] <= '9' || noText {
		name = strings.TrimSuffix("column_"+name, "_")
	}
	name = strings.TrimSuffix(name[:min(len(name), most)], "_")
	if name == "request_id" { // every request has a member of this name
		name = "item_id"
	}
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = name + "_" + grouped(n)
	}
	taken[unique] = true
	return unique
}
