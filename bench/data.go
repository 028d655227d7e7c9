package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"remit.example/catalogue"
)

// The columns of the product file.
const (
	columnID = iota
	columnTitle
	columnPrice
	columnLumens
	columnInStock
)

func schema() catalogue.Schema {
	return catalogue.Schema{Columns: []catalogue.Column{
		{Name: "id", Header: "id", Kind: catalogue.Text},
		{Name: "title", Header: "title", Kind: catalogue.Text, Words: true},
		{Name: "price", Header: "price", Kind: catalogue.Money, Currency: "XTS", Scale: 2, FromDecimal: true},
		{Name: "lumens", Header: "lumens", Kind: catalogue.Integer, Unknown: []string{""}},
		{Name: "in_stock", Header: "in_stock", Kind: catalogue.Boolean, True: []string{"true"}, False: []string{"false"}},
	}}
}

var (
	colours = []string{"white", "black", "brass", "copper", "grey", "green", "blue", "red"}
	kinds   = []string{"desk", "floor", "wall", "ceiling", "bedside", "garden", "task", "reading", "picture", "street"}
	bases   = []string{"E14", "E27", "GU10", "G9", "B22"}
)

// generate writes a product file: shuffled ids, prices from 1.00 to 500.99 of
// which many are equal, lumens that are unknown in a tenth of the rows, and
// nine rows in ten in stock.
func generate(rows int, seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, seed))
	pick := func(words []string) string { return words[random.IntN(len(words))] }
	var file bytes.Buffer
	file.WriteString("id,title,price,lumens,in_stock\n")
	for _, number := range random.Perm(rows) {
		lumens := ""
		if random.IntN(10) > 0 {
			lumens = fmt.Sprint(100 + 5*random.IntN(400))
		}
		fmt.Fprintf(&file, "sku-%07d,\"%s %s lamp, %s model %d\",%d.%02d,%s,%t\n",
			number, pick(colours), pick(kinds), pick(bases), random.IntN(5000),
			1+random.IntN(500), random.IntN(100), lumens, random.IntN(10) > 0)
	}
	return file.Bytes()
}

// question is one thing that both sides are asked.
type question struct {
	name   string
	query  catalogue.Query
	deep   bool // the page is the one in the middle of all matches, after
	after  []catalogue.Value
	lookup string // the id of a lookup; then there is no query
}

// page is the rows of a page.
const page = 20

func questions(rows int) []question {
	number := func(n int64) catalogue.Value { return catalogue.Value{Known: true, Int: n} }
	where := []catalogue.Predicate{
		{Column: columnPrice, Op: catalogue.AtMost, Value: number(30000)},
		{Column: columnLumens, Op: catalogue.AtLeast, Value: number(600)},
		{Column: columnInStock, Op: catalogue.Equals, Value: number(1)},
	}
	narrow := slices.Clone(where)
	narrow[0].Value = number(2000)
	cheapest := []catalogue.Key{
		{Column: columnPrice, Direction: catalogue.Lowest},
		{Column: columnLumens, Direction: catalogue.Highest},
	}
	brightest := []catalogue.Key{cheapest[1], cheapest[0]}
	words := []catalogue.Predicate{{Column: columnTitle, Op: catalogue.Words, Words: []string{"brass", "e27"}}}
	return []question{
		{name: "search, wide filter", query: catalogue.Query{Where: where, Limit: page}},
		{name: "search, narrow filter", query: catalogue.Query{Where: narrow, Limit: page}},
		{name: "rank by price, lumens", query: catalogue.Query{Where: where, Order: cheapest, Limit: page}},
		{name: "rank by lumens, price", query: catalogue.Query{Where: where, Order: brightest, Limit: page}},
		{name: "rank, narrow filter", query: catalogue.Query{Where: narrow, Order: cheapest, Limit: page}},
		{name: "rank, deep page", query: catalogue.Query{Where: where, Order: cheapest, Limit: page}, deep: true},
		{name: "words, first page", query: catalogue.Query{Where: words, Limit: page}},
		{name: "words, rank by price, lumens", query: catalogue.Query{Where: words, Order: cheapest, Limit: page}},
		{name: "lookup", lookup: fmt.Sprintf("sku-%07d", rows/3)},
	}
}
