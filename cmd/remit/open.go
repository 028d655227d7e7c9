package main

import "remit.example/tool"

// opened is what paths were read as.
type opened struct {
	set   *tool.Set
	files []string // files to watch
}

// open reads contracts and their data; no path means the built-in examples.
func open([]string) (*opened, error) {
	set, err := tool.NewSet()
	if err != nil {
		return nil, err
	}
	return &opened{set: set}, nil
}
