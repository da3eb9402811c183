package main

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

// changeSet is a set of two messages whose JSON has the given size, in bytes,
// with the ids a runner gives.
func changeSet(size int) selvage.ChangeSet {
	set := selvage.ChangeSet{ID: selvage.NewID(), Messages: []selvage.Message{
		{ID: selvage.NewID(), Role: selvage.RoleUser}, {ID: selvage.NewID(), Role: selvage.RoleAssistant}}}
	half := (size - envelope) / 2
	set.Messages[0].Content = selvage.Text(words(half))
	set.Messages[1].Content = selvage.Text(words(size - envelope - half))
	return set
}

// envelope is the size of such a set whose messages say nothing.
const envelope = 259

func words(n int) string {
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// encode is the JSON of a set as a client would send it.
func encode(set *selvage.ChangeSet) ([]byte, error) { return json.Marshal(set) }

// checkPayload makes sure that the sizes that are spoken of are the real ones.
func checkPayload(size int) error {
	set := changeSet(size)
	data, err := encode(&set)
	if err == nil && len(data) != size {
		err = fmt.Errorf("a change set of %d bytes has %d", size, len(data))
	}
	return err
}
