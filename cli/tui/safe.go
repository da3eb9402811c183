package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// safe makes text harmless: line breaks stay, a tab becomes spaces, and what
// could steer the terminal, hide text or turn its direction becomes U+FFFD.
func safe(text string) string {
	if !strings.ContainsFunc(text, harmful) && utf8.ValidString(text) {
		return text
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    ")
	return strings.Map(func(r rune) rune {
		if r == '\n' || !harmful(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// harmful reports whether a character is more, or less, than what it shows.
func harmful(r rune) bool {
	switch {
	case r == '\n':
		return false
	case unicode.IsControl(r), r == utf8.RuneError:
		return true
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069: // direction
		return true
	case r == 0x200E, r == 0x200F, r == 0x061C:
		return true
	case r == 0x2028, r == 0x2029, r == 0xFEFF, r >= 0xE0000 && r <= 0xE007F: // breaks, and tags nobody sees
		return true
	case r >= 0xFFF9 && r <= 0xFFFB:
		return true
	}
	return false
}

// oneLine is text on one line.
func oneLine(text string) string { return safe(strings.Join(strings.Fields(text), " ")) }
