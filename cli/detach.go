package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/selvagehq/selvage"
)

// detachedVariable tells a process that it is the one that does the work while
// another waits for it.
const detachedVariable = "SELVAGE_DETACHED"

func (a *app) detached() bool {
	v, _ := a.lookup(detachedVariable)
	return v != ""
}

// fromCommandLine reports whether the command is that of the process, so that another
// process can be given it.
func (a *app) fromCommandLine() bool { return slices.Equal(a.args, os.Args[1:]) }

// detach lets a process of its own lead the turn and waits for it as long as
// --wait says. When the wait is over the work goes on: nobody else could end
// it well.
func (c *chat) detach(ctx context.Context, o opening, text string) error {
	if !c.fromCommandLine() {
		return usage("leave --wait out", "--wait needs a process of its own, and this command does not come from the command line")
	}
	args := c.args
	if o.thread == "" && !o.latest {
		o.thread = selvage.NewID()
		args = append([]string{"--thread=" + o.thread}, args...)
	}
	w, err := c.startWorker(args, text, c.out)
	if err != nil {
		return fmt.Errorf("start the process that does the work: %w", err)
	}
	d := c.patience()
	timer := time.NewTimer(d)
	defer timer.Stop()
	interrupted := ctx.Done()
	for {
		select {
		case err := <-w.ended:
			return err
		case <-interrupted:
			interrupted = nil
			w.interrupt()
		case <-timer.C:
			w.leave()
			hint := "`" + c.again("chat", "--continue") + "` goes on with it"
			if o.thread != "" {
				hint = "`" + c.again("thread", "messages", quote(o.thread)) + "` shows it when it is there"
			}
			return &failure{exit: exitTimeout, class: "timeout", err: fmt.Errorf("no answer within %s; the work goes on", d), hint: hint,
				details: map[string]any{"thread_id": o.thread}}
		}
	}
}

// worker is the process that leads a turn.
type worker struct {
	cmd     *exec.Cmd
	out     []*os.File // our ends of its stdout and stderr
	copying sync.WaitGroup
	ended   chan error
}

// startWorker starts this program again, in a session of its own, with text on
// its stdin. What it says comes through pipes, so that it holds none of our
// streams when we leave.
func (a *app) startWorker(args []string, text string, stdout io.Writer) (_ *worker, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	stdin, err := unnamedFile(text)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stdin.Close()) }()
	w := &worker{ended: make(chan error, 1), cmd: &exec.Cmd{
		Path: program, Args: append([]string{os.Args[0]}, args...), Dir: a.dir,
		Env: append(slices.Clone(a.env), detachedVariable+"=1"), Stdin: stdin, SysProcAttr: ownSession(),
	}}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, to := range []struct {
		stream io.Writer
		field  *io.Writer
	}{{stdout, &w.cmd.Stdout}, {a.err, &w.cmd.Stderr}} {
		r, their, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		w.out, theirs = append(w.out, r), append(theirs, their)
		*to.field = their
		w.copying.Go(func() { _, _ = io.Copy(to.stream, r) }) // the stream keeps its error; a closed pipe is the end
	}
	if err := w.cmd.Start(); err != nil {
		w.leave()
		return nil, err
	}
	go func() {
		w.copying.Wait()
		w.ended <- w.exit()
	}()
	return w, nil
}

// unnamedFile holds text that a process can read after we are gone.
func unnamedFile(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "selvage-*")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// exit waits for the process, which has said all it had to say.
func (w *worker) exit() error {
	err := w.cmd.Wait()
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return &failure{exit: exited.ExitCode(), err: err, told: true}
	}
	return err
}

// interrupt asks the process to end cleanly.
func (w *worker) interrupt() {
	if w.cmd.Process.Signal(os.Interrupt) != nil {
		_ = w.cmd.Process.Kill() // where there are no interrupts
	}
}

// leave stops listening. The process goes on.
func (w *worker) leave() {
	for _, f := range w.out {
		_ = f.Close() // it was only read
	}
	w.copying.Wait()
}
