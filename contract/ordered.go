package contract

// Ordered is a mapping that keeps the order of the file.
type Ordered[T any] []Entry[T]

// Entry is one key of a mapping with its value.
type Entry[T any] struct {
	Name  string
	Value T
}

// Get is the value of a key, and whether the mapping has it.
func (o Ordered[T]) Get(name string) (T, bool) {
	for _, entry := range o {
		if entry.Name == name {
			return entry.Value, true
		}
	}
	var none T
	return none, false
}

// Names lists the keys in the order of the file.
func (o Ordered[T]) Names() []string {
	names := make([]string, len(o))
	for i, entry := range o {
		names[i] = entry.Name
	}
	return names
}
