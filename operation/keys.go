package operation

import (
	"crypto/sha256"
	"encoding/binary"
)

// Key is a digest under which a store finds operations. Two that are equal by
// chance do no harm: [Decide] compares the values themselves.
type Key [16]byte

// Keys are those of one operation or claim. Operations with an equal key are
// of one scope and agree in that value.
type Keys struct {
	Intent, Caller *Key // nil where there is none
	Fingerprint    Key
}

// Keys are those of the operation.
func (o Operation) Keys() Keys { return o.Scope.keys(o.Intent, o.Fingerprint, o.CallerKey) }

// Keys are those of the operation that the claim may begin. Claims that could
// change each other's verdicts share one of them.
func (c Claim) Keys() Keys { return c.Scope.keys(c.Intent, c.Fingerprint, c.CallerKey) }

// Line is the key of the claim's line.
func (c Claim) Line() Key {
	keys := c.Keys()
	if keys.Intent != nil {
		return *keys.Intent
	}
	return keys.Fingerprint
}

func (s Scope) keys(intent, fingerprint, caller string) Keys {
	keys := Keys{Fingerprint: s.key("fingerprint", fingerprint)}
	if intent != "" {
		k := s.key("intent", intent)
		keys.Intent = &k
	}
	if caller != "" {
		k := s.key("caller", caller)
		keys.Caller = &k
	}
	return keys
}

// key digests a value of the scope. Each part goes in with its length, so that
// no two lists of parts are the same bytes.
func (s Scope) key(kind, value string) Key {
	var text []byte
	for _, part := range []string{s.Tenant, s.Principal, s.Upstream, s.Tool, kind, value} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return Key(sum[:len(Key{})])
}
