package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"remit.example/contract"
	"remit.example/drive/live"
	"remit.example/record"
)

// lost are the writes whose answers are lost: those that --write names, and
// those of a served contract, which have an example.
func (f *liveFlags) lost(c *contract.Contract, tools []live.Tool) ([]live.Write, error) {
	var writes []live.Write
	for _, t := range tools {
		if t.Writes {
			writes = append(writes, live.Write{Tool: t.Name, Input: t.Example})
		}
	}
	named := map[string]bool{}
	for _, text := range f.writes {
		name, inputs, rest := toolAndInputs(text)
		if name == "" || len(inputs) == 0 || len(inputs) > 2 || rest != "" {
			return nil, usage(`--write is not "TOOL INPUT [OTHER]"; valid: a tool and one or two JSON objects, such as 'cancel_order {"order":"ord_1"} {"order":"ord_2"}'`)
		}
		if named[name] {
			return nil, usage("--write %s is given twice; valid: one of them", name)
		}
		named[name] = true
		at := slices.IndexFunc(writes, func(w live.Write) bool { return w.Tool == name })
		if at < 0 && c.Upstream == nil {
			return nil, usage("--write %s names no tool with an effect of the contract", name)
		}
		if at < 0 {
			at, writes = len(writes), append(writes, live.Write{Tool: name})
		}
		writes[at].Input = inputs[0]
		if len(inputs) > 1 {
			writes[at].Other = inputs[1]
		}
	}
	for i := range writes {
		if err := declareWrite(c, &writes[i]); err != nil {
			return nil, err
		}
	}
	return writes, f.counted(writes)
}

// declareWrite is what a contract says of a write.
func declareWrite(c *contract.Contract, w *live.Write) error {
	declared, known := c.Tools.Get(w.Tool)
	if c.Upstream != nil {
		_, declared, known = c.Match(w.Tool)
	}
	w.Effect = string(record.Unsafe)
	if !known || declared == nil {
		return nil
	}
	if declared.Effect != "" {
		w.Effect = string(declared.Effect)
	}
	if w.Effect == string(record.Read) {
		return usage("--write %s names a tool whose effect is read; valid: one with an effect", w.Tool)
	}
	if declared.Key != nil {
		w.Key = declared.Key.Argument
	}
	if s := declared.Status; s != nil {
		w.Status = &live.Status{Tool: s.Tool, With: s.With, Applied: s.Applied, NotApplied: s.NotApplied}
	}
	return nil
}

// counted adds the reads that count effects.
func (f *liveFlags) counted(writes []live.Write) error {
	for _, text := range f.effects {
		name, of, found := strings.Cut(text, "=")
		tool, inputs, pointer := toolAndInputs(of)
		if !found || name == "" || tool == "" || len(inputs) != 1 || !strings.HasPrefix(pointer, "/") || !jsontext.Pointer(pointer).IsValid() {
			return usage(`--effects is not "TOOL=READ INPUT POINTER"; valid: such as 'cancel_order=get_order {"customer":"C1"} /cancellations'`)
		}
		at := slices.IndexFunc(writes, func(w live.Write) bool { return w.Tool == name })
		switch {
		case at < 0:
			return usage(`--effects counts those of %s, which is no write here; valid: beside --write "%[1]s INPUT"`, name)
		case writes[at].Effects != nil:
			return usage("--effects %s is given twice; valid: one of them", name)
		}
		writes[at].Effects = &live.Effects{Tool: tool, Input: inputs[0], Pointer: pointer}
	}
	return nil
}

// toolAndInputs takes a tool's name, the JSON objects that follow it, and what
// follows them apart.
func toolAndInputs(text string) (name string, inputs [][]byte, rest string) {
	name, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	for {
		rest = strings.TrimSpace(rest)
		if !strings.HasPrefix(rest, "{") {
			return name, inputs, rest
		}
		decoder := jsontext.NewDecoder(bytes.NewBufferString(rest))
		value, err := decoder.ReadValue()
		if err != nil {
			return name, inputs, rest
		}
		inputs = append(inputs, value.Clone())
		rest = rest[decoder.InputOffset():]
	}
}
