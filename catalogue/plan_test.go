package catalogue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"remit.example/catalogue"
	"remit.example/contract"
)

// TestSchemaOf: what a loader is told of columns of every type.
func TestSchemaOf(t *testing.T) {
	c, err := contract.Parse("contract.yaml", []byte(`remit: 1
service: shop
data: {file: shop.csv, as_of: 2026-01-01}
columns:
  title: {type: text, header: Title, unknown: [""], show: true}
  sku: {id: true}
  link: {type: url}
  price: {type: money, currency: EUR, from: decimal, volatile: true}
  yen: {type: money, currency: JPY, from: decimal}
  test: {type: money, currency: XTS, from: minor}
  watts: {type: decimal, scale: 1}
  stock: {type: boolean, "true": ["yes"], "false": ["no"]}
tools:
  search: {promise: search, filters: {title: words, link: equals, price: max}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := catalogue.Schema{ID: 1, Columns: []catalogue.Column{
		{Name: "title", Member: "title", Header: "Title", Kind: catalogue.Text, Unknown: []string{""}, Show: true, Words: true},
		{Name: "sku", Member: "sku", Header: "sku", Kind: catalogue.Text},
		{Name: "link", Member: "link", Header: "link", Kind: catalogue.URL},
		{Name: "price", Member: "price_minor", Header: "price", Kind: catalogue.Money, Scale: 2, Currency: "EUR", FromDecimal: true, Volatile: true},
		{Name: "yen", Member: "yen_minor", Header: "yen", Kind: catalogue.Money, Currency: "JPY", FromDecimal: true},
		{Name: "test", Member: "test_minor", Header: "test", Kind: catalogue.Money, Currency: "XTS"},
		{Name: "watts", Member: "watts", Header: "watts", Kind: catalogue.Decimal, Scale: 1},
		{Name: "stock", Member: "stock", Header: "stock", Kind: catalogue.Boolean, True: []string{"yes"}, False: []string{"no"}},
	}}
	if d := cmp.Diff(want, catalogue.SchemaOf(c)); d != "" {
		t.Error(d)
	}
}
