package runner_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/openai"
	"github.com/selvagehq/selvage/runner"
)

// wire is a service that recites over the protocol of real models. It goes on
// after the beginning it is given, or says it again if it repeats. Its first
// answer is cut off after so many bytes, by closing the connection.
type wire struct {
	t       *testing.T
	cut     int
	repeats bool
	asked   []string // the beginnings it was given
}

func (s *wire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		s.t.Error(err)
	}
	prefix := ""
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			prefix = m.Content
		}
	}
	s.asked = append(s.asked, prefix)
	said, from := "", 0
	for from < len(recital) && said != prefix {
		said += recital[from]
		from++
	}
	if said != prefix {
		s.t.Errorf("asked to go on after %q, which it did not say", prefix)
	}
	if s.repeats {
		from = 0
	}
	body := wireBody(recital[from:])
	w.Header().Set("Content-Type", "text/event-stream")
	if len(s.asked) > 1 {
		_, _ = io.WriteString(w, body) // what does not arrive is looked for there
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = io.WriteString(w, body[:s.cut])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler) // closes the connection
}

// wireFrames are pieces as the frames of an answer, with what comes after them.
func wireFrames(pieces []string) []string {
	frame := func(format string, args ...any) string {
		return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":` + fmt.Sprintf(format, args...) + "}\n\n"
	}
	var frames []string
	for _, p := range pieces {
		text, _ := json.Marshal(p) // a string always has JSON
		frames = append(frames, frame(`[{"index":0,"delta":{"content":%s},"finish_reason":null}]`, text))
	}
	return append(frames, frame(`[{"index":0,"delta":{},"finish_reason":"stop"}]`),
		frame(`[],"usage":{"prompt_tokens":100,"completion_tokens":%d,"total_tokens":100}`, len(pieces)), "data: [DONE]\n\n")
}

func wireBody(pieces []string) string { return strings.Join(wireFrames(pieces), "") }

// A service closes the connection at every boundary of the chunks that it
// sends, and in the middle of them: the final text is whole, nothing is
// doubled, and the cost counts what both requests used.
func TestConnectionCutAnywhere(t *testing.T) {
	t.Parallel()
	frames, ends := wireFrames(recital), []int{0}
	for _, f := range frames {
		ends = append(ends, ends[len(ends)-1]+len(f))
	}
	want := strings.Join(recital, "")
	price := model.Price{Input: selvage.Dollar, Output: 1000 * selvage.Dollar}
	for _, mode := range []struct {
		name              string
		native, repeating bool
	}{{"a service that goes on", true, false}, {"a service that is asked to go on", false, false}, {"a service that repeats", false, true}} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			for cut, next := 0, 0; cut < ends[len(recital)+1]; { // then it is finished
				check := func(cut, arrived int) {
					service := &wire{t: t, cut: cut, repeats: mode.repeating}
					server := httptest.NewServer(service)
					defer server.Close()
					m, err := openai.New(openai.Options{Model: "m", BaseURL: server.URL + "/v1", HTTPClient: server.Client(), Continues: mode.native, Price: &price})
					if err != nil {
						t.Fatal(err)
					}
					r := newRunner(t, runner.Options{Store: newSpy(), Model: m, Retry: runner.Retry{Initial: time.Microsecond}})
					h := listen(t, r.Stream(t.Context(), "t", runner.Text("tell")))
					prefix := strings.Join(recital[:arrived], "")
					if h.failed != nil || h.result.Text != want || h.text != want || h.result.Steps != 1 {
						t.Fatalf("cut after %d bytes: text %q, deltas %q, error %v", cut, h.result.Text, h.text, h.failed)
					}
					if len(service.asked) != 2 || service.asked[1] != prefix {
						t.Fatalf("cut after %d bytes: asked after %q, want %q", cut, service.asked, prefix)
					}
					usage := selvage.Usage{InputTokens: 100, OutputTokens: int64(len(recital) - arrived)}
					if mode.repeating {
						usage.OutputTokens = int64(len(recital))
					}
					if arrived > 0 { // nobody said what was used: estimated, four characters a token
						usage.InputTokens++ // "tell"
						usage.OutputTokens += int64(utf8.RuneCountInString(prefix)+3) / 4
					}
					if cost := price.Cost(usage); h.result.Usage != usage || h.result.Cost != cost {
						t.Errorf("cut after %d bytes: usage %+v, cost %v, want %+v, %v", cut, h.result.Usage, h.result.Cost, usage, cost)
					}
				}
				for next < len(ends)-1 && ends[next+1] <= cut {
					next++
				}
				check(cut, min(next, len(recital)))
				// Every boundary, and some places between two.
				if cut += 37; cut > ends[next+1] {
					cut = ends[next+1]
				}
			}
		})
	}
}
