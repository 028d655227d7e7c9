// Package web holds what browsers run: TypeScript in src, without a dependency
// at run time, and the bundles made of it in dist, which are embedded.
//
//	src/remit.ts        dist/remit.js     registers tools in a page
//	src/remit-api.d.ts  dist/remit.d.ts   its types, for authors of pages
//	src/page.ts         dist/page.js      the pages for people
//	src/platform.ts     dist/platform.js  tools that fail in each way, for programs that check
//
// The folder pages has the templates of the pages for people, with their style
// and icon.
//
// A bundle is one classic script, minified, for browsers from Chromium 120.
// go generate makes all of them, and needs no Node.js; a test fails where one
// differs from its sources.
package web

import "embed"

//go:generate go run ./build

//go:embed dist
var dist embed.FS

// Dist is the content of a file in dist. It panics if there is none: the names
// are known when the program is built.
func Dist(name string) []byte {
	data, err := dist.ReadFile("dist/" + name)
	if err != nil {
		panic(err)
	}
	return data
}
