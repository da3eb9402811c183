package state

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// hasher computes the same hash for equal values, and remembers those of
// containers. Its seed is its own, so nobody can prepare values that collide.
type hasher struct {
	seed  maphash.Seed
	known map[*node]uint64
}

func newHasher() *hasher {
	return &hasher{seed: maphash.MakeSeed(), known: make(map[*node]uint64)}
}

func (h *hasher) hash(v Value) uint64 {
	switch v.kind {
	case KindNumber:
		var room [64]byte
		return maphash.Bytes(h.seed, appendCanonicalNumber(room[:0], v.text))
	case KindArray, KindObject:
		if v.node != nil {
			return h.hashNode(v.node)
		}
	}
	return maphash.String(h.seed, v.text) + uint64(v.kind)
}

func (h *hasher) hashNode(n *node) uint64 {
	if sum, ok := h.known[n]; ok {
		return sum
	}
	var content maphash.Hash
	content.SetSeed(h.seed)
	var word [8]byte
	n.each(func(leaf *node, i int) bool {
		if leaf.keys != nil {
			binary.LittleEndian.PutUint64(word[:], uint64(len(leaf.keys[i])))
			content.Write(word[:])
			content.WriteString(leaf.keys[i])
		}
		binary.LittleEndian.PutUint64(word[:], h.hash(leaf.items[i]))
		content.Write(word[:])
		return true
	})
	sum := content.Sum64()
	h.known[n] = sum
	return sum
}

// same reports whether two values are equal. It compares no containers unless
// their hashes are the same.
func (h *hasher) same(v, w Value) bool {
	if v.kind != w.kind {
		return false
	}
	if v.node != nil && v.node != w.node && h.hash(v) != h.hash(w) {
		return false
	}
	return v.Equal(w)
}

// elementSet numbers values, equal ones alike.
type elementSet struct {
	*hasher
	values map[uint64][]numbered // by hash
	size   int
}

type numbered struct {
	value  Value
	number int
}

func newElementSet(h *hasher) *elementSet {
	return &elementSet{hasher: h, values: make(map[uint64][]numbered)}
}

// add returns the number of a value and whether it is new.
func (s *elementSet) add(v Value) (int, bool) {
	sum := s.hash(v)
	level := s.values[sum]
	if i := slices.IndexFunc(level, func(n numbered) bool { return n.value.Equal(v) }); i >= 0 {
		return level[i].number, false
	}
	s.values[sum] = append(level, numbered{v, s.size})
	s.size++
	return s.size - 1, true
}
