package web

import (
	"embed"
	"io/fs"
)

//go:embed pages
var pages embed.FS

// Pages holds the templates of the pages for people, their style and icon.
func Pages() fs.FS {
	folder, err := fs.Sub(pages, "pages")
	if err != nil { // the name is a constant
		panic(err)
	}
	return folder
}
