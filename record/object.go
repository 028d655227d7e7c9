package record

import "slices"

// Object is a JSON object under construction: its members in the order in
// which they are added, with the values' bytes. The zero value is {}.
type Object struct{ members []byte }

// Add appends a member; value is JSON. A name that stands there already is not
// looked for.
func (o *Object) Add(name string, value []byte) {
	if len(o.members) > 0 {
		o.members = append(o.members, ',')
	}
	o.members = append(AppendString(o.members, name), ':')
	o.members = append(o.members, value...)
}

// Len is the length of the members written so far, in bytes; 0 for none.
func (o *Object) Len() int { return len(o.members) }

// JSON is the object.
func (o *Object) JSON() []byte { return slices.Concat([]byte("{"), o.members, []byte("}")) }
