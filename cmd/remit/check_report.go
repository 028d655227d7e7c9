package main

import (
	"bytes"
	"io"

	"remit.example/oracle"
)

// writeReport writes a report whole. One that cannot be written is a fault of
// the harness, and no verdict.
func writeReport(w io.Writer, report *oracle.Report, format string) error {
	var text bytes.Buffer
	if err := reports[format](report, &text); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}
