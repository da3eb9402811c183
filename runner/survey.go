package runner

import "github.com/selvagehq/selvage"

// survey is what is known about the messages of a window, which grows at its
// end, so that a run does not go through all of them before every inference.
type survey struct {
	first, last int64 // seqs of the messages at both ends
	tokens      []int // estimated, of the messages before each index seen
	whole       int   // before it every call is followed by its results
	neat        int   // from it to whole there is nothing to arrange
	gap         int   // from it on seq follows on seq
	summaries   int   // none from here on
}

// of brings the survey up to date with a window, of which it looks at what it
// has not seen. One that is not the window it knows, grown, it looks at anew.
func (s *survey) of(window []selvage.Message) {
	seen := len(s.tokens) - 1
	if seen < 1 || seen > len(window) || window[0].Seq != s.first || window[seen-1].Seq != s.last {
		*s = survey{tokens: append(make([]int, 0, len(window)+windowRoom), 0)}
		seen = 0
	}
	for i := seen; i < len(window); i++ {
		m := &window[i]
		s.tokens = append(s.tokens, s.tokens[i]+estimate(m))
		if i > 0 && m.Seq != window[i-1].Seq+1 {
			s.gap = i
		}
		if summarises(m) {
			s.summaries = i + 1
		}
	}
	s.pairUp(window)
	if len(window) > 0 {
		s.first, s.last = window[0].Seq, window[len(window)-1].Seq
	}
}

// tidy reports of a window of n messages whether there is nothing to arrange.
func (s *survey) tidy(n int) bool { return s.neat == 0 && s.whole == n }

// pairUp goes on looking whether every call is followed by its results.
func (s *survey) pairUp(window []selvage.Message) {
	for i := s.whole; i < len(window); {
		switch n := unit(window[i:]); {
		case n > 0:
			i += n
		case n == 0:
			return // more may come
		default:
			i++
			s.neat = i
		}
		s.whole = i
	}
}

// unit is how many messages at the front belong together: one, and the results
// of its calls. It is 0 if there may be results to come, and -1 if what is there
// has to be arranged.
func unit(messages []selvage.Message) int {
	m := &messages[0]
	if m.Erased || m.Role == selvage.RoleTool {
		return -1
	}
	for c := range m.ToolCalls {
		if c+1 == len(messages) {
			return 0
		}
		if r := &messages[c+1]; r.Erased || r.Role != selvage.RoleTool || r.ToolCallID != m.ToolCalls[c].ID {
			return -1
		}
	}
	return 1 + len(m.ToolCalls)
}

// glance is compose for the ordinary case, in which the end of the window is
// what the model is given, as it is: nothing is pending, open, summarised, out
// of order or too much. It reports false in any other.
func (x *run) glance() ([]selvage.Message, *frame, bool) {
	if !x.pending.empty() || x.summary != nil || len(x.open) > 0 || x.news || len(x.window) == 0 {
		return nil, nil, false
	}
	s, n := &x.survey, len(x.window)
	s.of(x.window)
	from := max(0, n-x.keep)
	for from > 0 && x.window[from].Role == selvage.RoleTool {
		from--
	}
	tokens := s.tokens[n] - s.tokens[from]
	if s.whole < n || s.neat > from || s.gap > from || s.summaries > 0 || x.window[from].Seq == 0 {
		return nil, nil, false
	}
	if room := x.roomForMessages(); room > 0 && tokens > int(float64(room)/x.scale()) {
		return nil, nil, false
	}
	view := x.window[from:n:n]
	return view, &frame{Version: x.version, FromSeq: view[0].Seq, ToSeq: s.last, Count: len(view),
		Tokens: int64(x.overhead() + tokens), Dropped: view[0].Seq - 1}, true
}
