package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// langgraph is LangGraph.js in a node process of its own; see peer.mjs. The
// times are those that process takes, the pipe between is not in them.
type langgraph struct {
	cfg         config
	engine      string
	synchronous string // SQLite's pragma; empty: as the checkpointer has it
	durability  string // of an invoke; empty: as the library has it

	cmd  *exec.Cmd
	in   io.WriteCloser
	json *json.Encoder
	out  *bufio.Reader
}

// command is what the process is told.
type command struct {
	Op          string `json:"op"`
	Engine      string `json:"engine,omitempty"`
	Path        string `json:"path,omitempty"`
	Synchronous string `json:"synchronous,omitempty"`
	Thread      string `json:"thread,omitempty"`
	Turns       []turn `json:"turns,omitempty"`
	User        string `json:"user,omitempty"`
	Assistant   string `json:"assistant,omitempty"`
	Durability  string `json:"durability,omitempty"`
}

// reply is what it answers; times are nanoseconds.
type reply struct {
	Error       string `json:"error"`
	JournalMode string `json:"journal_mode"`
	Synchronous string `json:"synchronous"`
	Whole       int64  `json:"whole"`
	Read        int64  `json:"read"`
	Write       int64  `json:"write"`
	Messages    int    `json:"messages"`
}

func (l *langgraph) open(ctx context.Context, address string) (string, int, error) {
	l.cmd = exec.CommandContext(ctx, l.cfg.node, "peer.mjs")
	l.cmd.Dir, l.cmd.Stderr = l.cfg.peer, l.cfg.log
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return "", 0, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	l.json, l.out = json.NewEncoder(l.in), bufio.NewReader(out)
	if err := l.cmd.Start(); err != nil {
		return "", 0, err
	}
	r, err := l.ask(command{Op: "open", Engine: l.engine, Path: address, Synchronous: l.synchronous})
	if err != nil {
		return "", 0, errors.Join(err, l.end())
	}
	durability := "synchronous_commit " + r.Synchronous
	if r.JournalMode != "" {
		durability = strings.ToUpper(r.JournalMode) + ", synchronous " + r.Synchronous
	}
	return durability, l.cmd.Process.Pid, nil
}

// seed makes the thread in one update, which writes the state once and not
// once a turn: what is stored before the turns are taken is not counted.
func (l *langgraph) seed(_ context.Context, thread string, turns []turn) error {
	_, err := l.ask(command{Op: "seed", Thread: thread, Turns: turns})
	return err
}

func (l *langgraph) take(_ context.Context, thread string, t turn) (cost, error) {
	r, err := l.ask(command{Op: "turn", Thread: thread, User: t[0], Assistant: t[1], Durability: l.durability})
	return cost{write: time.Duration(r.Write), load: time.Duration(r.Read), whole: time.Duration(r.Whole)}, err
}

func (l *langgraph) history(_ context.Context, thread string) (int, time.Duration, error) {
	r, err := l.ask(command{Op: "load", Thread: thread})
	return r.Messages, time.Duration(r.Whole), err
}

func (l *langgraph) close() error {
	_, err := l.ask(command{Op: "close"})
	return errors.Join(err, l.end())
}

// end waits for the process to end, which it does when nobody asks any more.
func (l *langgraph) end() error {
	return errors.Join(l.in.Close(), l.cmd.Wait())
}

func (l *langgraph) ask(c command) (r reply, err error) {
	if err := l.json.Encode(c); err != nil {
		return r, err
	}
	line, err := l.out.ReadBytes('\n')
	if err != nil {
		return r, fmt.Errorf("%s: the node process does not answer: %w", c.Op, err)
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, err
	}
	if r.Error != "" {
		return r, fmt.Errorf("%s: %s", c.Op, r.Error)
	}
	return r, nil
}

// missing says why the peer cannot be measured, or "".
func (cfg config) missing() string {
	if _, err := exec.LookPath(cfg.node); err != nil {
		return "node is not installed; LangGraph.js was not measured"
	}
	if _, err := os.Stat(filepath.Join(cfg.peer, "node_modules")); err != nil {
		return "LangGraph.js is not installed and was not measured; run npm ci in bench/peers/langgraph"
	}
	return ""
}

// versions names the packages that were measured, and node.
func versions(cfg config) (string, error) {
	out, err := exec.Command(cfg.node, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", cfg.node, err)
	}
	all := []string{"node " + strings.TrimSpace(string(out))}
	for _, name := range []string{"@langchain/langgraph", "@langchain/langgraph-checkpoint-sqlite", "@langchain/langgraph-checkpoint-postgres", "@langchain/core"} {
		data, err := os.ReadFile(filepath.Join(cfg.peer, "node_modules", filepath.FromSlash(name), "package.json"))
		if err != nil {
			return "", err
		}
		var p struct{ Version string }
		if err := json.Unmarshal(data, &p); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, name+" "+p.Version)
	}
	return strings.Join(all, " · "), nil
}
