// Command build makes the bundles of web/dist from web/src. It is run in the
// folder web, by go generate.
package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// entries are the scripts that are bundled.
var entries = []string{"remit", "page", "platform"}

func main() {
	files, err := build(".")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err == nil {
			err = os.WriteFile(filepath.Join("dist", name), files[name], 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// build is each file of dist, by name, made from the sources in folder/src.
func build(folder string) (map[string][]byte, error) {
	src, err := filepath.Abs(filepath.Join(folder, "src"))
	if err != nil {
		return nil, err
	}
	types, err := os.ReadFile(filepath.Join(src, "remit-api.d.ts"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"remit.d.ts": types}
	for _, entry := range entries {
		if files[entry+".js"], err = bundle(src, entry+".ts"); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// bundle is one classic script made of a source and what it imports.
func bundle(src, entry string) ([]byte, error) {
	result := api.Build(api.BuildOptions{
		AbsWorkingDir:     src,
		EntryPoints:       []string{entry},
		Bundle:            true,
		Format:            api.FormatIIFE,
		Engines:           []api.Engine{{Name: api.EngineChrome, Version: "120"}},
		Charset:           api.CharsetUTF8,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		MinifySyntax:      true,
		LegalComments:     api.LegalCommentsNone,
	})
	if len(result.Errors) > 0 {
		messages := api.FormatMessages(result.Errors, api.FormatMessagesOptions{})
		return nil, errors.New(strings.TrimSpace(strings.Join(messages, "\n")))
	}
	return result.OutputFiles[0].Contents, nil
}
