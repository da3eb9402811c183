package main

import (
	"math/rand/v2"
	"strings"
)

// messageSize is how many bytes a message says.
const messageSize = 500

// turn is what is said in a turn: the user's message and the assistant's.
type turn [2]string

// speaker makes up a conversation. What is said differs from message to
// message as words do, so that a database that compresses finds what it would
// find in earnest.
type speaker struct{ rand *rand.Rand }

func newSpeaker(seed uint64) *speaker {
	return &speaker{rand.New(rand.NewPCG(seed, seed))}
}

func (s *speaker) turn() turn { return turn{s.message(), s.message()} }

func (s *speaker) turns(n int) []turn {
	all := make([]turn, n)
	for i := range all {
		all[i] = s.turn()
	}
	return all
}

func (s *speaker) message() string {
	var b strings.Builder
	for b.Len() < messageSize {
		// Short words are said more often than long ones.
		n := 2 + s.rand.IntN(3) + s.rand.IntN(4)
		for range n / 2 {
			b.WriteByte(consonants[s.rand.IntN(len(consonants))])
			b.WriteByte(vowels[s.rand.IntN(len(vowels))])
		}
		if n%2 == 1 {
			b.WriteByte(consonants[s.rand.IntN(len(consonants))])
		}
		b.WriteByte(' ')
	}
	return b.String()[:messageSize]
}

const consonants, vowels = "bcdfghklmnprstvwz", "aeiouaeio"
