package storetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/selvagehq/selvage"
)

// picture is everything that can be read about a thread, as text to compare.
func (k *kit) picture(id selvage.ThreadID) string {
	k.Helper()
	h, err := k.store.Load(k.Context(), id, selvage.LoadOptions{Messages: ptr(1 << 20)})
	if err != nil {
		return fmt.Sprintf("unreadable: %s", selvage.Code(err))
	}
	return encode(k, struct {
		Head     selvage.Head
		Log      []selvage.Change
		Runs     []selvage.Run
		Messages []selvage.Message
	}{h, k.log(id), k.runs(selvage.RunQuery{ThreadID: id}), k.allMessages(id, selvage.MessageQuery{Visibility: selvage.ShowAll})})
}

// encode is json.Marshal without escaping, for comparing.
func encode(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatalf("encode %T: %v", v, err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// equal compares two values by their JSON.
func (k *kit) equal(what string, got, want any) {
	k.Helper()
	if g, w := encode(k, got), encode(k, want); g != w {
		k.Errorf("%s: %s", what, difference(g, w))
	}
}

// difference shows where two texts part.
func difference(got, want string) string {
	if len(got) <= 200 && len(want) <= 200 {
		return fmt.Sprintf("got %s, want %s", got, want)
	}
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, min(i, len(s))-60):min(len(s), i+120)] }
	return fmt.Sprintf("they part at byte %d: got ...%s..., want ...%s...", i, cut(got), cut(want))
}

// texts are what messages say, in order.
func texts(messages []selvage.Message) []string {
	out := make([]string, len(messages))
	for i := range messages {
		out[i] = messages[i].Text()
	}
	return out
}

// isStored checks a time for the form of all stored times.
func (k *kit) isStored(what string, at time.Time) {
	k.Helper()
	if at.IsZero() || at.Location() != time.UTC || !at.Equal(at.Truncate(selvage.TimePrecision)) {
		k.Errorf("%s is %v; want a time in UTC with a precision of %v", what, at, selvage.TimePrecision)
	}
}
