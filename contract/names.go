package contract

// Member is the column's name in answers: a money column bears its unit.
func (c *Column) Member(name string) string {
	if c.Type == Money {
		return name + "_minor"
	}
	return name
}

// Kind is the column's type; the id column is text without saying so.
func (c *Column) Kind() Type {
	if c.Type == "" && c.ID {
		return Text
	}
	return c.Type
}

// IDColumn is the name of the column that identifies a row; "" where no
// column does.
func (c *Contract) IDColumn() string {
	for _, column := range c.Columns {
		if column.Value.ID {
			return column.Name
		}
	}
	return ""
}

// FilterArgument is one filter as a request names it.
type FilterArgument struct {
	Name   string // such as max_price_minor
	Column string
	Op     FilterOp
}

// FilterArguments lists a tool's filters in the order of the file.
func (c *Contract) FilterArguments(t *Tool) []FilterArgument {
	var arguments []FilterArgument
	for _, filter := range t.Filters {
		column, ok := c.Columns.Get(filter.Name)
		if !ok {
			continue
		}
		for _, op := range filter.Value.Ops {
			name := column.Member(filter.Name)
			if op == Min || op == Max {
				name = string(op) + "_" + name
			}
			arguments = append(arguments, FilterArgument{name, filter.Name, op})
		}
	}
	return arguments
}

// Preference is one order of one column as a request names it.
type Preference struct {
	Name      string // such as price_ascending
	Column    string
	Direction Direction
}

// DeclaredPreferences lists what the columns declare, in the order of the file.
func (c *Contract) DeclaredPreferences() []Preference {
	suffix := map[Direction]string{Lowest: "_ascending", Highest: "_descending", TrueFirst: "_descending"}
	var preferences []Preference
	for _, column := range c.Columns {
		for _, direction := range column.Value.Prefer {
			preferences = append(preferences, Preference{column.Name + suffix[direction], column.Name, direction})
		}
	}
	return preferences
}

// PreferencesOf lists the preferences that a tool accepts, in the order of
// the columns.
func (c *Contract) PreferencesOf(t *Tool) []Preference {
	declared := c.DeclaredPreferences()
	if t.Preferences == nil {
		return declared
	}
	named := map[string]bool{}
	for _, name := range t.Preferences {
		named[name] = true
	}
	var accepted []Preference
	for _, preference := range declared {
		if named[preference.Name] {
			accepted = append(accepted, preference)
		}
	}
	return accepted
}

// PurposesOf lists the purposes that a tool answers, in the order of the file.
func (c *Contract) PurposesOf(t *Tool) Ordered[*Purpose] {
	if t.Purposes == nil {
		return c.Purposes
	}
	var purposes Ordered[*Purpose]
	for _, name := range t.Purposes {
		if purpose, ok := c.Purposes.Get(name); ok {
			purposes = append(purposes, Entry[*Purpose]{name, purpose})
		}
	}
	return purposes
}

// Properties lists the evidence properties that the purposes name, each once.
func (c *Contract) Properties() []string {
	var properties []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			properties = append(properties, name)
		}
	}
	for _, purpose := range c.Purposes {
		if purpose.Value.Scope != nil {
			add(purpose.Value.Scope.Property)
		}
		for _, criterion := range purpose.Value.Criteria {
			add(criterion.Property)
		}
	}
	return properties
}

// Limit is how many executions one task may use.
func (c *Contract) Limit() int {
	if c.Budget == nil {
		return DefaultExecutions
	}
	return c.Budget.Executions
}

// DefaultExecutions is the budget of a contract that names none: one initial
// execution and at most two subsequent ones.
const DefaultExecutions = 3
