package commit

import (
	"slices"

	"github.com/selvagehq/selvage"
)

// Rewind is a place where the history of a thread does not go on from the
// version before: version At follows version To. Seqs go on all the same.
//
// A fork has one, too, wherever it took over messages between which some of
// the origin's were hidden: To is then the version before At.
type Rewind struct {
	At   selvage.Version `json:"at"`
	To   selvage.Version `json:"to"`
	Next int64           `json:"next"` // the first seq from At on
	Back int64           `json:"back"` // the seq that the next message had as of To
}

// Segment is a stretch of visible messages and the versions that added them,
// ends included. Between From and To nothing was rewound. No seq is missing in
// it, and it is never empty.
type Segment struct {
	First, Last int64
	From, To    selvage.Version
}

// Span is a stretch of versions, ends included.
type Span struct{ From, To selvage.Version }

// Lineage returns the versions that version v was made of, in order: all up to
// v, without those that rewinds hid. The rewinds are those of the thread's
// head, in order; first is the first version of the thread's life.
func Lineage(rewinds []Rewind, first, v selvage.Version) []Span {
	var spans []Span
	for _, r := range slices.Backward(rewinds) {
		if r.At <= v {
			spans = append(spans, Span{r.At, v})
			v = r.To
		}
	}
	if first <= v {
		spans = append(spans, Span{first, v})
	}
	slices.Reverse(spans)
	return spans
}

// Visible returns the stretches of messages that can be seen at version v, in
// order. The rewinds are those of the thread's head, first is the seq with
// which the thread's life began, and next the seq that the next message had as
// of v.
func Visible(rewinds []Rewind, first int64, v selvage.Version, next int64) []Segment {
	var segments []Segment
	add := func(s Segment) {
		if s.First <= s.Last {
			segments = append(segments, s)
		}
	}
	for _, r := range slices.Backward(rewinds) {
		if r.At <= v {
			add(Segment{max(r.Next, first), next - 1, r.At, v})
			v, next = r.To, r.Back
		}
	}
	add(Segment{first, next - 1, 1, v})
	slices.Reverse(segments)
	return segments
}

// Visible returns the stretches of messages that can be seen at the head.
func (h *Head) Visible(first int64) []Segment {
	return Visible(h.Rewinds, first, h.Thread.Version, h.nextSeq())
}

// Clip returns what of the segments lies between two seqs, ends included.
func Clip(segments []Segment, first, last int64) []Segment {
	var in []Segment
	for _, s := range segments {
		s.First, s.Last = max(s.First, first), min(s.Last, last)
		if s.First <= s.Last {
			in = append(in, s)
		}
	}
	return in
}

// Window returns what of the segments holds the last n messages.
func Window(segments []Segment, n int64) []Segment {
	for i, s := range slices.Backward(segments) {
		if n <= 0 {
			return segments[i+1:]
		}
		if size := s.Last - s.First + 1; size >= n {
			tail := slices.Clone(segments[i:])
			tail[0].First = s.Last - n + 1
			return tail
		}
		n -= s.Last - s.First + 1
	}
	if n <= 0 {
		return nil
	}
	return segments
}

// Without returns what of the segments others do not hold.
func Without(segments, others []Segment) []Segment {
	var rest []Segment
	for _, s := range segments {
		for _, o := range Clip(others, s.First, s.Last) {
			if s.First < o.First {
				rest = append(rest, Segment{s.First, o.First - 1, s.From, s.To})
			}
			s.First = o.Last + 1
		}
		if s.First <= s.Last {
			rest = append(rest, s)
		}
	}
	return rest
}

// Newest returns the greatest version of the lineage that is not greater than
// v, and 0 if there is none.
func Newest(lineage []Span, v selvage.Version) selvage.Version {
	for _, s := range slices.Backward(lineage) {
		if s.From <= v {
			return min(s.To, v)
		}
	}
	return 0
}
