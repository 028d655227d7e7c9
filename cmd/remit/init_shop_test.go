package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// shopRows is the size of the shop's export.
const shopRows = 5000

// shopExport is a product file as shops export it from a spreadsheet: a BOM,
// lines that end in \r\n, decimal prices, yes and no, blanks, quotes with
// commas and line ends inside, leading zeros, and variants that share the id
// of their product. It is the same on every run.
func shopExport() string {
	random := rand.New(rand.NewPCG(0x5e11, 0x1a3b))
	var out strings.Builder
	out.WriteString("\ufeffHandle,Variant SKU,Title,Option1 Value,Body,Price,Compare-at price,Stock,Lumens,Weight (g),EAN,Link,Image Src\r\n")
	colours := []string{"black", "white", "brass", "oak", "\"night\" blue", "sand, light"}
	rooms := []string{"Desk", "Floor", "Wall", "Clip", "Pendant", "Table"}
	for row := range shopRows {
		product := row/3 + 1 // three variants each
		colour := colours[(row*7+product)%len(colours)]
		room := rooms[product%len(rooms)]
		handle := fmt.Sprintf("%s-lamp-%04d", strings.ToLower(room), product)
		cents := 999 + random.IntN(24000)
		before := ""
		if random.IntN(4) == 0 {
			before = decimal(cents + 1000)
		}
		stock := "yes"
		if random.IntN(5) == 0 {
			stock = "no"
		}
		lumens := fmt.Sprint(100 + 50*random.IntN(30))
		if random.IntN(20) == 0 {
			lumens = ""
		}
		cells := []string{
			handle, fmt.Sprintf("%06d", 1000+row), fmt.Sprintf("%s lamp %d, %s", room, product, colour), colour,
			fmt.Sprintf("A lamp for the %s.\r\nIt says \"%s\", and means it; %s", strings.ToLower(room), colour, strings.Repeat("it is made with care. ", random.IntN(12))),
			decimal(cents), before, stock, lumens, fmt.Sprint(300 + random.IntN(4000)), fmt.Sprintf("40%011d", 70000+row*13),
			fmt.Sprintf("https://shop.example/products/%s?variant=%d", handle, row+1), fmt.Sprintf("https://cdn.shop.example/%d.jpg", product),
		}
		for i, cell := range cells {
			if i > 0 {
				out.WriteByte(',')
			}
			if strings.ContainsAny(cell, ",\"\r\n") {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			out.WriteString(cell)
		}
		out.WriteString("\r\n")
	}
	return out.String()
}

func decimal(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }
