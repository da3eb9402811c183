// Package yardstick is what a store is measured against: the engine it stands
// on, doing the least that could keep the same bytes. The project's own
// benchmark and the one for users share it, so that both speak of the same.
package yardstick

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/selvagehq/selvage"
)

// text is what the messages say: words, as people use them, so that nothing
// is smaller or faster than it would be in earnest.
const text = "The order was packed on Tuesday and left the warehouse in Lyon with two parcels; one of them, the smaller, " +
	"was held at customs because its declaration names a battery. Should I ask the carrier to split the shipment, or wait " +
	"until the form has been corrected? The customer wrote twice and would rather have the first parcel now. "

// MinSize is the least size of a change set, in bytes.
const MinSize = envelope + 2

// envelope is the size of a set whose messages say nothing.
const envelope = 259

// ChangeSet is a set of two messages whose JSON has the given size in bytes,
// at least [MinSize], with the ids a runner gives.
func ChangeSet(size int) selvage.ChangeSet {
	set := selvage.ChangeSet{ID: selvage.NewID(), Messages: []selvage.Message{
		{ID: selvage.NewID(), Role: selvage.RoleUser}, {ID: selvage.NewID(), Role: selvage.RoleAssistant}}}
	half := (size - envelope) / 2
	set.Messages[0].Content = selvage.Text(words(half))
	set.Messages[1].Content = selvage.Text(words(size - envelope - half))
	return set
}

func words(n int) string {
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// Body is the JSON of such a set, as a client would send it.
func Body(size int) ([]byte, error) {
	set := ChangeSet(size)
	data, err := json.Marshal(&set)
	if err == nil && len(data) != size {
		err = fmt.Errorf("a change set of %d bytes has %d", size, len(data))
	}
	return data, err
}
