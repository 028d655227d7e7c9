// Package examples holds the contracts that are served when none is named,
// with their data, embedded.
package examples

import "embed"

// Files has one folder for each example, with a contract.yaml.
//
//go:embed task-lights light-sources delivery-status
var Files embed.FS

// Names lists the folders in the order in which they are served.
func Names() []string { return []string{"task-lights", "light-sources", "delivery-status"} }
