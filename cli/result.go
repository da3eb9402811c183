package cli

import (
	"strings"
	"time"
	"unicode/utf8"
)

// format is how results are printed.
type format string

// The formats.
const (
	formatTable format = "table"
	formatJSON  format = "json"
	formatLines format = "jsonl"
)

func (a *app) format() format { return format(a.conf.Get("output").Text) }

// show prints one object: itself in JSON, prose for people.
func (a *app) show(object any, prose func()) error {
	switch a.format() {
	case formatJSON:
		a.out.json(object)
	case formatLines:
		a.out.jsonLine(object)
	default:
		prose()
	}
	return nil
}

// fields prints names and values below each other, without those that are
// empty.
func (a *app) fields(pairs [][2]string) {
	width := 0
	for _, p := range pairs {
		if p[1] != "" {
			width = max(width, utf8.RuneCountInString(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			a.out.line("%s  %s", a.out.style.dim(pad(p[0], width)), oneLine(p[1]))
		}
	}
}

// table prints rows below a header, in columns.
func (a *app) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(oneLine(cell)))
		}
	}
	line := func(row []string) string {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = pad(oneLine(cell), widths[i])
		}
		return strings.TrimRight(strings.Join(cells, "  "), " ")
	}
	a.out.line("%s", a.out.style.bold(line(header)))
	for _, row := range rows {
		a.out.line("%s", line(row))
	}
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// moment writes a time for people; none is "".
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
