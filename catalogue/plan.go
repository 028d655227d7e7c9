package catalogue

import (
	"remit.example/contract"
)

var kinds = map[contract.Type]Kind{
	contract.Text: Text, contract.URL: URL, contract.Integer: Integer,
	contract.Decimal: Decimal, contract.Money: Money, contract.Boolean: Boolean,
}

// SchemaOf is the typed shape of a contract's data: what a loader and an
// engine need to know of it.
func SchemaOf(c *contract.Contract) Schema {
	searched := map[string]bool{}
	for _, tool := range c.Tools {
		for _, filter := range c.FilterArguments(tool.Value) {
			if filter.Op == contract.Words {
				searched[filter.Column] = true
			}
		}
	}
	var schema Schema
	for i, entry := range c.Columns {
		column := columnOf(entry.Name, entry.Value)
		column.Words = searched[entry.Name]
		if entry.Value.ID {
			schema.ID = i
		}
		schema.Columns = append(schema.Columns, column)
	}
	return schema
}

func columnOf(name string, c *contract.Column) Column {
	column := Column{
		Name: name, Member: c.Member(name), Header: c.Header, Kind: kinds[c.Kind()], Scale: c.Scale,
		Currency: c.Currency, FromDecimal: c.From == contract.FromDecimal,
		Unknown: plain(c.Unknown), True: plain(c.True), False: plain(c.False),
		Volatile: c.Volatile, Show: c.Show,
	}
	if column.Header == "" {
		column.Header = name
	}
	if exponent, ok := contract.Exponent(c.Currency); ok && exponent > 0 {
		column.Scale = exponent
	}
	return column
}

func plain(tokens []contract.Token) []string {
	if tokens == nil {
		return nil
	}
	list := make([]string, len(tokens))
	for i, token := range tokens {
		list[i] = string(token)
	}
	return list
}

// mayBeUnknown reports whether a value of the column can be unknown.
func (c Column) mayBeUnknown(stale bool) bool {
	return c.Unknown != nil || c.Volatile && stale
}

// index is the position of a column by name; the contract is valid, so it exists.
func (s Schema) index(name string) int {
	for i, column := range s.Columns {
		if column.Name == name {
			return i
		}
	}
	panic("catalogue: no column " + name)
}
