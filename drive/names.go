package drive

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"remit.example/oracle"
)

// recoveryTool is the logical name in every recovery suite.
const recoveryTool = "delivery_status"

// LogicalNames lists the names that the cases of a suite call tools by, in the
// order in which they come up.
func LogicalNames(suite *oracle.Suite) []string {
	if suite.Contract != oracle.CatalogueV1 {
		return []string{recoveryTool}
	}
	var names []string
	for i := range suite.Cases {
		if name, _ := suite.Cases[i].Request(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// NamesError says which logical names have no tool, or several.
type NamesError struct{ faults error }

// Error tells all of them, and how to choose.
func (e *NamesError) Error() string { return e.faults.Error() }

// bind finds the tool behind each logical name of a suite. A NamesError tells
// all that do not have one.
func bind(ctx context.Context, suite *oracle.Suite, tools Tools, names map[string]string) (map[string]string, error) {
	listed, err := tools.List(ctx)
	unlisted := errors.Is(err, ErrNoList)
	if err != nil && !unlisted {
		return nil, err
	}
	bound := map[string]string{}
	var faults []error
	for _, logical := range LogicalNames(suite) {
		r := request{logical: logical, mapped: names[logical], byPromise: suite.Contract == oracle.CatalogueV1}
		if unlisted {
			bound[logical] = r.wanted()
			continue
		}
		if bound[logical], err = r.resolve(listed); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return nil, &NamesError{errors.Join(faults...)}
	}
	return bound, nil
}

// request asks for the tool behind one logical name.
type request struct {
	logical, mapped string // mapped is "" where nothing is
	byPromise       bool   // whether a promise of that name will do
}

func (r request) wanted() string {
	if r.mapped != "" {
		return r.mapped
	}
	return r.logical
}

func (r request) resolve(listed []Tool) (string, error) {
	var all, promising []string
	for _, t := range listed {
		all = append(all, t.Name)
		if r.byPromise && t.Promise == r.logical {
			promising = append(promising, t.Name)
		}
	}
	switch {
	case slices.Contains(all, r.wanted()):
		return r.wanted(), nil
	case r.mapped != "":
		return "", fmt.Errorf("--tool %s=%s: the server has no such tool; valid: %s", r.logical, show(r.mapped), list(all))
	case len(promising) == 1:
		return promising[0], nil
	case len(promising) > 1:
		return "", fmt.Errorf("%d tools promise %s: %s; choose one: --tool %s=NAME", len(promising), r.logical, list(promising), r.logical)
	case r.byPromise:
		return "", fmt.Errorf("no tool is named %s or promises it; choose one: --tool %s=NAME, of %s", r.logical, r.logical, list(all))
	}
	return "", fmt.Errorf("no tool is named %s; choose one: --tool %s=NAME, of %s", r.logical, r.logical, list(all))
}

// maxNames bounds the names that one message lists.
const maxNames = 20

// list shows names, which come from a server.
func list(names []string) string {
	if len(names) == 0 {
		return "none, as it lists no tool"
	}
	var shown []string
	for _, name := range names[:min(len(names), maxNames)] {
		shown = append(shown, show(name))
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./-]{1,128}$`)

// show is a name as it is, and quoted where it is not a plain one.
func show(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return fmt.Sprintf("%.128q", name)
}
