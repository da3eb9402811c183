package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/selvagehq/selvage"
	"github.com/selvagehq/selvage/model"
	"github.com/selvagehq/selvage/model/replay"
)

// recordings are what a command records to and plays from.
type recordings struct {
	to     string // what --record says
	writer *replay.Recorder
	played map[string]*replay.Model // by path: a command plays each from its beginning once
}

// registerRecord adds the flag of commands by which a model may be asked.
func (a *app) registerRecord(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.recordings.to, "record", "", "add what models answer to this `FILE`, without secrets; --model replay:FILE plays it")
}

// placed is the name of a model as a run records it: that of a recording with its
// absolute path, so that the run can be gone on with from any directory.
func (a *app) placed(name string) string {
	if path, is := strings.CutPrefix(name, replay.Scheme); is && path != "" {
		return replay.Scheme + a.path(path)
	}
	return name
}

// openRecording makes the model that a recording is.
func (a *app) openRecording(path string) (model.Model, error) {
	if path == "" {
		return nil, usage("for example replay:tape.jsonl; --record tape.jsonl makes one", "model %q names no file", replay.Scheme)
	}
	path = a.path(path)
	if m := a.recordings.played[path]; m != nil {
		return m, nil
	}
	m, err := replay.Open(path, replay.Options{Secrets: a.secrets()})
	if err != nil {
		return nil, recordingFailure("play", path, err)
	}
	if a.recordings.played == nil {
		a.recordings.played = map[string]*replay.Model{}
	}
	a.recordings.played[path] = m
	return m, nil
}

// recorded is m, recorded if --record says so.
func (a *app) recorded(m model.Model) (model.Model, error) {
	if a.recordings.to == "" {
		return m, nil
	}
	if a.recordings.writer == nil {
		path := a.path(a.recordings.to)
		w, err := replay.Record(path, replay.Options{Secrets: a.secrets()})
		if err != nil {
			return nil, recordingFailure("record to", path, err)
		}
		a.recordings.writer = w
	}
	return a.recordings.writer.Model(m), nil
}

// recordingFailure says what to do about a recording that cannot be used.
func recordingFailure(what, path string, err error) error {
	switch {
	case errors.Is(err, selvage.ErrInvalid):
		return usage("name a file that --record made, or one that does not exist", "%s %s: %v", what, path, err)
	case errors.Is(err, fs.ErrNotExist) && what == "play":
		return &failure{exit: exitNotFound, class: "not_found", err: fmt.Errorf("there is no recording %s", path),
			hint: "make one with --record FILE"}
	}
	return fmt.Errorf("%s %s: %w", what, path, cause(err))
}

// endRecording closes what was recorded to, and tells if it is not whole.
func (a *app) endRecording() error {
	if a.recordings.writer == nil {
		return nil
	}
	err := a.recordings.writer.Close()
	a.recordings.writer = nil
	if err != nil {
		return fmt.Errorf("record to %s: %w", a.recordings.to, err)
	}
	return nil
}

// secrets are the credentials in use, which no recording may hold.
func (a *app) secrets() []string {
	var all []string
	for _, v := range a.conf.All() {
		if v.Secret {
			all = append(all, v.Text)
		}
		if u, err := url.Parse(v.Text); err == nil && u.User != nil {
			if password, has := u.User.Password(); has {
				all = append(all, password)
			}
		}
	}
	return all
}
