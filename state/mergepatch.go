package state

import "fmt"

// FromMergePatch reads an RFC 7386 merge patch and returns the patch that does to
// doc what it says: members that are null there are deleted, objects are merged
// into objects, and everything else is set. What is equal already is left alone,
// so the result is meant for doc alone; it is nil if nothing changes.
//
// A merge patch that is not an object would replace the document by something
// that is none, and is [ErrTypeMismatch]. Other errors are those of [ParseValue].
func FromMergePatch(doc Document, patch []byte) (Patch, error) {
	v, err := ParseValue(patch)
	if err != nil {
		return nil, fmt.Errorf("merge patch: %w", err)
	}
	if v.kind != KindObject {
		return nil, fmt.Errorf("merge patch: %w", failf(ErrTypeMismatch, "patch is %s, not an object", describe(v)))
	}
	return mergeOps(nil, "", doc.Root(), v), nil
}

// mergeOps appends the ops that merge an object into another one at a path.
func mergeOps(p Patch, at Pointer, target, patch Value) Patch {
	for key, member := range patch.Members() {
		old, ok := target.Field(key)
		switch {
		case member.IsNull():
			if ok {
				p = append(p, Delete(at.Join(key)))
			}
		case member.kind == KindObject && old.kind == KindObject:
			p = mergeOps(p, at.Join(key), old, member)
		default:
			if next := withoutNulls(member); !ok || !old.Equal(next) {
				p = append(p, Set(at.Join(key), next))
			}
		}
	}
	return p
}

// withoutNulls returns what merging v into nothing makes: objects lose their null
// members, also those in objects of theirs, but not those in arrays.
func withoutNulls(v Value) Value {
	if v.kind != KindObject {
		return v
	}
	e, next := new(edit), Value{kind: KindObject}
	for key, member := range v.Members() {
		if !member.IsNull() {
			next = next.adding(e, place{key: key}, withoutNulls(member))
		}
	}
	return next
}
