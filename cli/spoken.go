package cli

import "strings"

// spoken is what a terminal shows of an answer that is still coming. An answer
// that is given again from the start is shown only from where it goes beyond
// what stands there, so that nothing stands there twice.
type spoken struct {
	shown strings.Builder
	again bool // the answer is given again
	at    int  // as far as it says what is shown
}

// restart notes that the answer is given again from its start.
func (s *spoken) restart() { s.again, s.at = s.shown.Len() > 0, 0 }

// hear takes the next piece of the answer and returns what to show. If it says
// otherwise than what is shown, anew reports so, and all of it is to be shown.
func (s *spoken) hear(text string) (show string, anew bool) {
	if s.again {
		rest := s.shown.String()[s.at:]
		switch {
		case len(text) < len(rest) && strings.HasPrefix(rest, text):
			s.at += len(text)
			return "", false
		case strings.HasPrefix(text, rest):
			text = text[len(rest):]
		default:
			return s.instead(text), true
		}
		s.again = false
	}
	s.shown.WriteString(text)
	return text, false
}

// end ends the answer. If less of it came than is shown, anew reports so, and
// what came is to be shown.
func (s *spoken) end() (show string, anew bool) {
	if s.again {
		show, anew = s.instead(""), true
	}
	*s = spoken{}
	return show, anew
}

// instead returns the answer as far as it came, which is not what is shown.
func (s *spoken) instead(text string) string {
	all := s.shown.String()[:s.at] + text
	*s = spoken{}
	s.shown.WriteString(all)
	return all
}
