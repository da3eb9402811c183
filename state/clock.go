package state

import "math"

// tick returns the clock after the latest, or [ErrOverflow] after the last one
// there is.
func tick(latest int64) (int64, error) {
	if latest == math.MaxInt64 {
		return 0, failf(ErrOverflow, "no clock is greater than %d", latest)
	}
	return latest + 1, nil
}

// clockOf returns a clock of an entry or register, and -1 if it has none.
func clockOf(entry Value, name string) int64 {
	clock, ok := entry.Field(name)
	if !ok {
		return -1
	}
	n, _ := clock.Int64()
	return n
}

// present reports whether an entry was added and not removed later.
func present(entry Value) bool {
	added := clockOf(entry, addedMember)
	return added >= 0 && added >= clockOf(entry, removedMember)
}

// latestOf returns the greatest clock in the entries of an OR-set or OR-map, and
// 0 if there is none.
func latestOf(v Value) int64 {
	latest := int64(0)
	for _, entry := range v.Members() {
		latest = max(latest, clockOf(entry, addedMember), clockOf(entry, removedMember))
	}
	return latest
}

// asObject returns {} for null, which is how a value reads that is not there.
func asObject(v Value) Value {
	if v.kind == KindNull {
		v.kind = KindObject
	}
	return v
}

// objectWith returns an object with one more member.
func objectWith(v Value, key string, member Value) Value {
	return asObject(v).putting(new(edit), key, member)
}
