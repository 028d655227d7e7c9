package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"remit.example/catalogue"
	"remit.example/catalogue/snapshot"
	"remit.example/contract"
	"remit.example/examples"
	"remit.example/tool"
)

// contractFile is the contract of a folder.
const contractFile = "contract.yaml"

// maxV1Rows is the most rows of a catalogue that answers in catalogue-v1,
// which has no pages.
const maxV1Rows = 100

// opened is what paths were read as.
type opened struct {
	set   *tool.Set
	files []string // files to watch
}

// open reads contracts and their data; no path means the built-in examples.
// Beside an error it has the files to watch, any of which may mend it.
func open(paths []string) (*opened, error) { return openWith(paths, cursorKey()) }

// cursorKey lasts for the process, so that cursors survive a reload.
var cursorKey = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
})

// localKey authenticates cursors between runs of one person's own command
// line, where there is nobody to forge for.
func localKey() []byte {
	key := sha256.Sum256([]byte("remit call"))
	return key[:]
}

func openWith(paths []string, key []byte) (*opened, error) {
	places := builtin()
	if len(paths) > 0 {
		places = nil
		for _, name := range paths {
			places = append(places, onDisk(name))
		}
	}
	var services [][]*tool.Tool
	var faults []error
	o := &opened{}
	for _, p := range places {
		o.files = append(o.files, p.watched()...)
		tools, files, err := p.open(key)
		o.files = append(o.files, files...)
		services = append(services, tools)
		if err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return o, errors.Join(faults...)
	}
	set, err := tool.NewSet(services...)
	o.set = set
	return o, err
}

// place is where one contract stands, and the files that it names.
type place struct {
	shown string // the contract's name in messages
	name  string // the contract's name in files
	files fs.FS
	disk  bool
}

// builtin lists the examples in the binary itself.
func builtin() []place {
	var places []place
	for _, name := range examples.Names() {
		folder, err := fs.Sub(examples.Files, name)
		if err != nil { // the names are those of embedded folders
			panic(err)
		}
		places = append(places, place{shown: path.Join("examples", name, contractFile), name: contractFile, files: folder})
	}
	return places
}

// builtinCatalogue is the catalogue of one of the examples.
func builtinCatalogue(example string) (*catalogue.Source, error) {
	p, err := builtinPlace(example)
	if err != nil {
		return nil, err
	}
	c, err := p.contract()
	if err != nil {
		return nil, err
	}
	l := loader{place: p, declared: c}
	return l.catalogue(localKey())
}

// builtinTool is one tool of one of the examples; no other is loaded.
func builtinTool(example, name string) (*tool.Tool, error) {
	p, err := builtinPlace(example)
	if err != nil {
		return nil, err
	}
	tools, _, err := p.open(localKey())
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("the example %s has no tool %s", example, name)
}

func builtinPlace(example string) (place, error) {
	for _, p := range builtin() {
		if path.Base(path.Dir(p.shown)) == example {
			return p, nil
		}
	}
	return place{}, fmt.Errorf("there is no example %s", example)
}

// onDisk is a contract file, or that of a folder.
func onDisk(name string) place {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		name = filepath.Join(name, contractFile)
	}
	return place{shown: name, name: filepath.Base(name), files: folder(filepath.Dir(name)), disk: true}
}

func (p place) watched() []string {
	if !p.disk {
		return nil
	}
	return []string{p.shown}
}

// folder opens the files that a contract names: relative to it, which may lead
// out of the folder, or absolute.
type folder string

// Open opens a file by the name that a contract gives it. Anything but a
// regular file is refused before it is opened: a named pipe would keep whoever
// opens it waiting, and a device may have no end.
func (f folder) Open(name string) (fs.File, error) {
	info, err := os.Stat(f.path(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: f.path(name), Err: errors.New("it is no regular file")}
	}
	return os.Open(f.path(name))
}

func (f folder) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(string(f), filepath.FromSlash(name))
}

func (p place) contract() (*contract.Contract, error) {
	text, err := fs.ReadFile(p.files, p.name)
	if err != nil {
		return nil, fmt.Errorf("%w; name a contract file, or a folder with a %s", err, contractFile)
	}
	return contract.Parse(p.shown, text)
}

func (p place) open(key []byte) (tools []*tool.Tool, files []string, err error) {
	c, err := p.contract()
	if err != nil {
		return nil, nil, err
	}
	l := loader{place: p, declared: c}
	backing := tool.Backing{Files: p.files, Getenv: os.LookupEnv}
	if c.Data != nil {
		if backing.Catalogue, err = l.catalogue(key); err != nil {
			return nil, l.watch, err
		}
	}
	for _, t := range c.Tools {
		if b := t.Value.Backend; b != nil && b.Fixture != nil {
			l.note(b.Fixture.File)
		}
	}
	tools, err = tool.Bind(c, backing)
	return tools, l.watch, err
}

// loader reads the data of one contract.
type loader struct {
	place
	declared *contract.Contract
	watch    []string
}

// note remembers a file to watch.
func (l *loader) note(name string) {
	if f, ok := l.files.(folder); ok {
		l.watch = append(l.watch, f.path(name))
	}
}

func (l *loader) catalogue(key []byte) (*catalogue.Source, error) {
	c := l.declared
	evidence, err := l.evidenceText()
	if err != nil {
		return nil, err
	}
	source, file, err := l.source(c.Data.File, c.Data.Format, c.Data.Delimiter)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if source.AsOf, err = l.asOf(file); err != nil {
		return nil, err
	}
	source.Salt = bytes.Join([][]byte{c.Source.Bytes, evidence}, []byte{0})
	rows, err := snapshot.Load(file, source, catalogue.SchemaOf(c))
	if err != nil {
		return nil, err
	}
	if err := l.withinV1(rows.Info().Rows); err != nil {
		return nil, err
	}
	records, err := l.evidence(evidence, rows)
	if err != nil {
		return nil, err
	}
	return &catalogue.Source{Contract: c, Engine: rows, Evidence: records, CursorKey: key, Now: time.Now}, nil
}

// source opens a data file.
func (l *loader) source(name string, format contract.Format, delimiter string) (snapshot.Source, io.ReadCloser, error) {
	l.note(name)
	file, err := l.files.Open(name)
	if err != nil {
		return snapshot.Source{}, nil, fmt.Errorf("%s names the file %s: %w", l.shown, name, err)
	}
	return l.described(name, format, delimiter), file, nil
}

func (l *loader) described(name string, format contract.Format, delimiter string) snapshot.Source {
	source := snapshot.Source{Name: l.display(name), Format: snapshot.Format(format)}
	if delimiter != "" {
		source.Delimiter, _ = utf8.DecodeRuneInString(delimiter)
	}
	return source
}

// display is a file's name in messages: as the user would reach it.
func (l *loader) display(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(l.shown), filepath.FromSlash(name))
}

// asOf is when the data was true.
func (l *loader) asOf(file io.ReadCloser) (time.Time, error) {
	if declared := l.declared.Data.AsOf; declared != nil && !declared.Time.IsZero() {
		return declared.Time, nil
	}
	info, err := file.(fs.File).Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

func (l *loader) evidenceText() ([]byte, error) {
	if l.declared.Evidence == nil {
		return nil, nil
	}
	_, file, err := l.source(l.declared.Evidence.File, "", "")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

func (l *loader) evidence(text []byte, rows *snapshot.Snapshot) (catalogue.Evidence, error) {
	declared := l.declared.Evidence
	if declared == nil {
		return nil, nil
	}
	source := l.described(declared.File, declared.Format, declared.Delimiter)
	return snapshot.LoadEvidence(bytes.NewReader(text), source, l.declared.Properties(), rows.Has)
}

// withinV1 refuses catalogue-v1 where its answers would need pages.
func (l *loader) withinV1(rows int) error {
	for _, t := range l.declared.Tools {
		if t.Value.Format == contract.CatalogueV1 && rows > maxV1Rows {
			return l.declared.Problem("tools."+t.Name+".format",
				"catalogue-v1 has no pages and the data has %d rows; valid: catalogue-v2, or at most %d rows", rows, maxV1Rows)
		}
	}
	return nil
}
