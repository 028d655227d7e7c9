package main

import (
	"fmt"
	"os"
)

// watch remembers how files looked, by their time and size: enough for files
// that people and programs save, and without a limit on their number or place.
type watch struct {
	looks map[string]string
}

// set watches files from now on.
func (w *watch) set(files []string) {
	w.looks = make(map[string]string, len(files))
	for _, file := range files {
		w.looks[file] = look(file)
	}
}

// look notes how the files look now, apart from any copy of the watch.
func (w *watch) look() {
	files := make([]string, 0, len(w.looks))
	for file := range w.looks {
		files = append(files, file)
	}
	w.set(files)
}

// keep takes over how files looked earlier, where both watch them.
func (w *watch) keep(earlier watch) {
	for file := range w.looks {
		if looked, known := earlier.looks[file]; known {
			w.looks[file] = looked
		}
	}
}

// changed reports whether a file looks different.
func (w *watch) changed() bool {
	for file, looked := range w.looks {
		if look(file) != looked {
			return true
		}
	}
	return false
}

func look(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return "absent"
	}
	return fmt.Sprintf("%d %d", info.ModTime().UnixNano(), info.Size())
}
