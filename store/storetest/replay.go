package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

func replayPromises(cfg Config) []promise {
	all := []promise{
		{"BytesComeBack", "Replay.Append: rows come back byte for byte, in the order they were sent, with every field.", replayBytes},
		{"StreamsAreApart", "ReplayStream: streams, and protocols and versions of one, have nothing to do with each other.", replayStreams},
		{"GoesOnAfterAnID", "Replay.List: the rows after a wire id; pages neither skip nor repeat a row.", replayGoesOn},
		{"UnknownIDIsExpired", "Replay.List: a wire id that the stream does not have is cursor_expired.", replayUnknown},
		{"RetryIsOneRow", "Replay.Append: the same rows sent again are answered with the first ones, and nothing is added.", replayRetry},
		{"OtherContentIsRefused", "Replay.Append: a wire id with other content, or in another stream of the protocol, is already_exists, and nothing is written.", replayOther},
		{"AllOrNone", "Replay.Append: rows are added all or none.", replayAllOrNone},
		{"UniqueUnderConcurrency", "Replay.Append: of streams that send one wire id at once one wins, and copies of rows are one.", replayConcurrency},
		{"RedactedStays", "Replay.Redact: the payload goes for good; the row stays in its place.", replayRedacted},
		{"ExpiredIsOmitted", "Replay.List: rows whose time is over are left out, and their ids are cursor_expired; no row expires before the one before it.", replayExpired},
		{"GoesWithItsThread", "CONTRACT 13: deleting a thread deletes its streams, and their wire ids may be used again.", replayGoes},
		{"Limits", "Replay.Append: a name that is none is invalid; too large is too_large.", replayLimits},
	}
	if cfg.Reopen != nil {
		all = append(all, promise{"SurvivesClose", "Replay: a client that comes back is sent the same again, after a restart too.", replaySurvives})
	}
	return all
}

func (k *kit) replays() selvage.Replay { k.Helper(); return offered[selvage.Replay](k) }

// newStream is a stream that no other test uses.
func newStream() selvage.ReplayStream {
	return selvage.ReplayStream{ID: "s-" + selvage.NewID(), Protocol: "ag-ui", Version: "1"}
}

// wires are rows whose wire ids are their texts under a prefix.
func wires(prefix string, texts ...string) []selvage.ReplayDraft {
	var out []selvage.ReplayDraft
	for _, text := range texts {
		out = append(out, selvage.ReplayDraft{WireID: prefix + text, Type: "delta", Payload: []byte(text)})
	}
	return out
}

func (k *kit) sent(s selvage.ReplayStream, rows ...selvage.ReplayDraft) []selvage.ReplayRow {
	k.Helper()
	out, err := k.replays().Append(k.Context(), s, rows)
	if err != nil {
		k.Fatalf("append to a replay stream failed: %v", err)
	}
	return out
}

// replayed reads what is left of a stream after a wire id, by pages.
func (k *kit) replayed(s selvage.ReplayStream, after string, limit int) []selvage.ReplayRow {
	k.Helper()
	out := []selvage.ReplayRow{}
	for range 1000 {
		page, err := k.replays().List(k.Context(), s, selvage.ReplayQuery{After: after, Limit: &limit})
		if err != nil {
			k.Fatalf("list a replay stream after %q failed: %v", after, err)
		}
		out = append(out, page.Items...)
		if after = page.Next; after == "" {
			return out
		}
	}
	k.Fatalf("a replay stream does not end")
	return nil
}

func payloads(rows []selvage.ReplayRow) string {
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%d:%s", r.Seq, r.Payload))
	}
	return strings.Join(out, " ")
}

func replayBytes(k *kit) {
	s, id := newStream(), selvage.NewID()
	until := time.Now().Add(time.Hour).UTC().Truncate(selvage.TimePrecision)
	draft := selvage.ReplayDraft{WireID: id + "/1:é", Type: "message", Payload: []byte("data: {\"a\": 1.0}\r\n\x00\xff\n"), Projector: "p3", Sources: []string{"7.0", "7.1"}, ExpiresAt: &until}
	got := k.sent(s, draft, selvage.ReplayDraft{WireID: id + "2", ExpiresAt: &until})
	if len(got) != 2 || got[0].Seq != 1 || got[1].Seq != 2 || string(got[0].Payload) != string(draft.Payload) {
		k.Fatalf("two rows were answered with %s", encode(k, got))
	}
	k.isStored("the time of a row", got[0].CreatedAt)
	k.equal("a row", got[0].ReplayDraft, draft)
	k.equal("the rows", k.replayed(s, "", 10), got)
	k.equal("an unknown stream", k.replayed(newStream(), "", 10), []selvage.ReplayRow{})
}

func replayStreams(k *kit) {
	base, id := newStream(), selvage.NewID()
	other, protocol, version := base, base, base
	other.ID += "x"
	protocol.Protocol = "a2a"
	version.Version = "2"
	k.sent(base, wires(id, "a", "b")...)
	k.sent(other, wires(id+"other", "o")...)
	k.sent(protocol, wires(id, "a", "p")...)
	k.sent(version, wires(id, "v")...)
	for want, s := range map[string]selvage.ReplayStream{"1:a 2:b": base, "1:o": other, "1:a 2:p": protocol, "1:v": version} {
		if got := payloads(k.replayed(s, "", 1)); got != want {
			k.Errorf("a stream holds %q; want %q", got, want)
		}
	}
}

func replayGoesOn(k *kit) {
	s, id := newStream(), selvage.NewID()
	var want []string
	for i := range 12 {
		k.sent(s, wires(id, fmt.Sprint(i))...)
		want = append(want, fmt.Sprintf("%d:%d", i+1, i))
	}
	for after := range 12 {
		for _, limit := range []int{1, 5, 50} {
			if got := payloads(k.replayed(s, id+fmt.Sprint(after), limit)); got != strings.Join(want[after+1:], " ") {
				k.Errorf("after row %d by pages of %d come %q; want %q", after+1, limit, got, want[after+1:])
			}
		}
	}
	page, err := k.replays().List(k.Context(), s, selvage.ReplayQuery{Limit: ptr(0)})
	if err != nil || len(page.Items) != 0 || page.Items == nil || page.Next != "" {
		k.Errorf("a limit of 0 answers %s, error %v; want an empty page", encode(k, page), err)
	}
}

func replayUnknown(k *kit) {
	s, other, id := newStream(), newStream(), selvage.NewID()
	k.sent(s, wires(id, "a")...)
	k.sent(other, wires(id, "b")...)
	for _, after := range []string{"nothing", id + "b", id, "1"} {
		_, err := k.replays().List(k.Context(), s, selvage.ReplayQuery{After: after})
		k.class("list after the unknown id "+after, err, selvage.ErrCursorExpired)
	}
}

func replayRetry(k *kit) {
	s, id := newStream(), selvage.NewID()
	first := k.sent(s, wires(id, "a", "b")...)
	k.equal("rows sent again", k.sent(s, wires(id, "a", "b")...), first)
	more := wires(id, "b", "c", "c")
	more[0].Projector, more[0].Sources = "another", []string{"9.9"} // what it was made from is not what was sent
	got := k.sent(s, more...)
	if payloads(got) != "2:b 3:c 3:c" {
		k.Errorf("a row sent again, a new one, and that again, are answered with %q", payloads(got))
	}
	k.equal("the first rows", k.replayed(s, "", 2)[:2], first)
	if rows := payloads(k.replayed(s, "", 50)); rows != "1:a 2:b 3:c" {
		k.Errorf("the stream holds %q", rows)
	}
}

func replayOther(k *kit) {
	s, other, id := newStream(), newStream(), selvage.NewID()
	k.sent(s, wires(id, "a")...)
	refused := func(what string, s selvage.ReplayStream, d selvage.ReplayDraft) {
		_, err := k.replays().Append(k.Context(), s, append(wires(id+"before", "x"), d))
		k.class(what, err, selvage.ErrAlreadyExists)
	}
	refused("the same wire id with another payload", s, selvage.ReplayDraft{WireID: id + "a", Type: "delta", Payload: []byte("b")})
	refused("the same wire id with another type", s, selvage.ReplayDraft{WireID: id + "a", Type: "end", Payload: []byte("a")})
	refused("the same row in another stream", other, wires(id, "a")[0])
	if got := payloads(k.replayed(s, "", 50)) + payloads(k.replayed(other, "", 50)); got != "1:a" {
		k.Errorf("after refusals the streams hold %q", got)
	}
	k.sent(other, wires(id+"before", "x")...)
}

func replayAllOrNone(k *kit) {
	s, id := newStream(), selvage.NewID()
	over := time.Now().Add(-time.Second)
	bad := append(wires(id, "a", "b"), selvage.ReplayDraft{WireID: id + "c", ExpiresAt: &over})
	_, err := k.replays().Append(k.Context(), s, bad)
	k.class("a row that is over", err, selvage.ErrInvalid)
	if rows := k.replayed(s, "", 50); len(rows) != 0 {
		k.Errorf("a refused append left %q", payloads(rows))
	}
	if got := payloads(k.sent(s, wires(id, "a")...)); got != "1:a" {
		k.Errorf("the first row of a stream is %q", got)
	}
}

func replayConcurrency(k *kit) {
	id := selvage.NewID()
	streams := make([]selvage.ReplayStream, 8)
	for i := range streams {
		streams[i] = newStream()
	}
	errs := together(len(streams), func(i int) error {
		_, err := k.replays().Append(k.Context(), streams[i], wires(id, "one", fmt.Sprint("mine", i)))
		return err
	})
	won := k.winner("sending one wire id in several streams", errs, selvage.ErrAlreadyExists)
	for i, s := range streams {
		if rows := k.replayed(s, "", 50); len(rows) != 0 && i != won || len(rows) != 2 && i == won {
			k.Errorf("stream %d holds %q; the winner was %d", i, payloads(rows), won)
		}
	}
	s := newStream()
	k.noErrors(together(8, func(i int) error {
		_, err := k.replays().Append(k.Context(), s, append(wires(id, "copy"), wires(id, fmt.Sprint(i))...))
		return err
	}))
	if rows := k.replayed(s, "", 4); len(rows) != 9 || rows[8].Seq != 9 {
		k.Errorf("8 writers that share a row made %q; want 9 rows", payloads(rows))
	}
}

func replayRedacted(k *kit) {
	s, id := newStream(), selvage.NewID()
	k.sent(s, wires(id, "a", "secret", "c")...)
	for range 2 {
		if err := k.replays().Redact(k.Context(), s, id+"secret"); err != nil {
			k.Fatalf("redact failed: %v", err)
		}
	}
	rows := k.replayed(s, "", 50)
	if payloads(rows) != "1:a 2: 3:c" || !rows[1].Redacted || rows[0].Redacted || rows[1].WireID != id+"secret" {
		k.Errorf("with one row redacted the stream holds %s", encode(k, rows))
	}
	if got := payloads(k.replayed(s, id+"secret", 50)); got != "3:c" {
		k.Errorf("after the redacted row comes %q", got)
	}
	if got := k.sent(s, wires(id, "secret")...); len(got) != 1 || got[0].Seq != 2 || len(got[0].Payload) != 0 {
		k.Errorf("a redacted row sent again is answered with %s; want it as it is", encode(k, got))
	}
	k.class("redacting what is not there", k.replays().Redact(k.Context(), s, id+"none"), selvage.ErrNotFound)
	k.class("redacting a row of another stream", k.replays().Redact(k.Context(), newStream(), id+"a"), selvage.ErrNotFound)
}

func replayExpired(k *kit) {
	k = k.alone()
	s, id := newStream(), selvage.NewID()
	soon, later := time.Now().Add(shortly), time.Now().Add(time.Hour)
	rows := wires(id, "a", "b", "c", "d")
	rows[0].ExpiresAt, rows[1].ExpiresAt, rows[2].ExpiresAt, rows[3].ExpiresAt = &soon, &soon, &later, &soon
	got := k.sent(s, rows...)
	if !got[3].ExpiresAt.Equal(*got[2].ExpiresAt) {
		k.Errorf("a row expires at %v, before the one before it, at %v", got[3].ExpiresAt, got[2].ExpiresAt)
	}
	k.waitUntil(soon)
	check := func() {
		k.Helper()
		if left := payloads(k.replayed(s, "", 1)); left != "3:c 4:d" {
			k.Errorf("what is left is %q", left)
		}
		for _, after := range []string{"a", "b"} {
			_, err := k.replays().List(k.Context(), s, selvage.ReplayQuery{After: id + after})
			k.class("list after an expired row", err, selvage.ErrCursorExpired)
		}
		if left := payloads(k.replayed(s, id+"c", 1)); left != "4:d" {
			k.Errorf("after the first row that is left comes %q", left)
		}
	}
	check()
	k.sweeps(4) // two rows and their ids
	check()
}

func replayGoes(k *kit) {
	thread, id := k.create(says("hello")), selvage.NewID()
	s := newStream()
	s.ThreadID = thread
	missing := s
	missing.ThreadID = newID()
	_, err := k.replays().Append(k.Context(), missing, wires(id, "a"))
	k.class("append for no thread", err, selvage.ErrNotFound)
	k.sent(s, wires(id, "a", "b")...)
	k.delete(thread, selvage.DeleteReject)
	if rows := k.replayed(s, "", 50); len(rows) != 0 {
		k.Errorf("a deleted thread has the rows %q", payloads(rows))
	}
	_, err = k.replays().List(k.Context(), s, selvage.ReplayQuery{After: id + "a"})
	k.class("list after a row of a deleted thread", err, selvage.ErrCursorExpired)
	k.sent(newStream(), wires(id, "a")...)
}

func replayLimits(k *kit) {
	good, id := newStream(), selvage.NewID()
	for what, change := range map[string]func(*selvage.ReplayStream){
		"id": func(s *selvage.ReplayStream) { s.ID = "" }, "protocol": func(s *selvage.ReplayStream) { s.Protocol = "" },
		"version": func(s *selvage.ReplayStream) { s.Version = "a/b" }, "thread": func(s *selvage.ReplayStream) { s.ThreadID = ".." },
	} {
		s := good
		change(&s)
		_, err := k.replays().Append(k.Context(), s, wires(id, "a"))
		k.class("append to a stream without "+what, err, selvage.ErrInvalid)
		_, err = k.replays().List(k.Context(), s, selvage.ReplayQuery{})
		k.class("list of a stream without "+what, err, selvage.ErrInvalid)
	}
	for _, wireID := range []string{"", "a\nb", "a\x00", strings.Repeat("x", 201), "\xff"} {
		_, err := k.replays().Append(k.Context(), good, []selvage.ReplayDraft{{WireID: wireID}})
		k.class(fmt.Sprintf("append of the wire id %q", wireID), err, selvage.ErrInvalid)
	}
	many := make([]string, selvage.MaxReplayRows+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	_, err := k.replays().Append(k.Context(), good, wires(id, many...))
	k.class("append of too many rows", err, selvage.ErrTooLarge)
	large := []byte(strings.Repeat("x", selvage.MaxReplayBytes+1))
	_, err = k.replays().Append(k.Context(), good, []selvage.ReplayDraft{{WireID: id, Payload: large}})
	k.class("append of too large a row", err, selvage.ErrTooLarge)
	if got := k.sent(good, selvage.ReplayDraft{WireID: id, Payload: large[1:]}); len(got[0].Payload) != selvage.MaxReplayBytes {
		k.Errorf("a payload of %d bytes came back with %d", selvage.MaxReplayBytes, len(got[0].Payload))
	}
	if got := k.sent(newStream(), wires(selvage.NewID(), many[1:]...)...); len(got) != selvage.MaxReplayRows {
		k.Errorf("%d rows at once made %d", selvage.MaxReplayRows, len(got))
	}
}

func replaySurvives(k *kit) {
	k = k.alone()
	s, id := newStream(), selvage.NewID()
	first := k.sent(s, wires(id, "a", "b")...)
	k = k.restart()
	k.equal("rows after a restart", k.replayed(s, "", 50), first)
	k.equal("rows sent again after a restart", k.sent(s, wires(id, "a", "b")...), first)
	if got := payloads(k.sent(s, wires(id, "c")...)); got != "3:c" {
		k.Errorf("the next row is %q; want 3:c", got)
	}
}
