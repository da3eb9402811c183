package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/selvagehq/selvage"
)

// Type says how the text of a value is read.
type Type uint8

// The types.
const (
	Text      Type = iota
	Words          // a list of names, in one text separated by commas or spaces
	Lines          // a list of texts, in one text separated by line breaks
	Phrases        // a list of texts that may have spaces in them; in one text commas divide
	Command        // a program and its arguments: a list, or one text that spaces divide
	Number         // a whole number, 0 or more
	Bound          // a whole number, 0 or more, or none
	Dollars        // an amount such as 0.50
	Allowance      // an amount such as 0.50, or none
	Duration       // such as 90s, 1h30m or 7d
	Path           // of a file or folder; relative to the file that names it
	Store          // a store: a path, a URL or @name
)

// Key is one thing that can be configured. A name segment "*" stands for any
// name.
type Key struct {
	Name    string // dotted, "log.level"
	Type    Type
	Help    string
	Default string
	Env     []string // besides SELVAGE_NAME
	Choices []string // the valid texts, if there are only some
	Secret  bool     // never shown
	// Reserved keys are read and checked, and nothing uses them yet.
	Reserved bool
	// grants reports whether this text gives power that an untrusted file may
	// not give. Nil never does.
	grants func(text string) bool
	// each reports what is wrong with one text of a list. Nil finds nothing.
	each func(text string) error
	rank int // place in the table
}

func always(string) bool { return true }

// effects are what running a tool twice may do.
var effects = []string{"none", "idempotent", "once"}

// toolCalls are the ways in which the calls of a turn run.
var toolCalls = []string{"sequential", "parallel", "batch"}

// expression checks a regular expression.
func expression(text string) error {
	_, err := regexp.Compile(text)
	return err
}

// positive checks a number of which there is at least one.
func positive(text string) error {
	if n, err := ParseNumber(text); err != nil || n < 1 {
		return fmt.Errorf("%q is not a whole number from 1 on", text)
	}
	return nil
}

// leaves reports whether a store named by a project's file is anywhere but in
// the project's own directory.
func leaves(store string) bool {
	path := store
	for _, scheme := range []string{"sqlite:", "file:"} {
		path = strings.TrimPrefix(path, scheme)
	}
	switch {
	case store == "memory:":
		return false
	case strings.Contains(path, ":"), strings.HasPrefix(path, "@"), strings.HasPrefix(path, "/"), strings.HasPrefix(path, "~"):
		return true
	default:
		return slices.Contains(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), "..")
	}
}

// fromFile reports whether a text names a file to read it from.
func fromFile(text string) bool { return strings.HasPrefix(text, "@") }

// Keys returns every key, in the order people are shown them.
func Keys() []Key {
	keys := []Key{
		{Name: "store", Type: Store, Help: "where threads are kept (default: selvage.db in the home)", grants: leaves},
		{Name: "stores.*", Type: Store, Help: "stores with a name, used as @name", grants: always},
		{Name: "model", Help: "PROVIDER/NAME for new threads"},
		{Name: "fallbacks", Type: Words, Help: "models that answer for new threads when the one before cannot"},
		{Name: "system", Help: "system prompt for new threads: text, or @FILE", grants: fromFile},
		{Name: "user", Help: "whom new threads belong to"},
		{Name: "agent", Help: "agent that new runs are recorded under"},
		{Name: "tool_calls", Default: "sequential", Choices: toolCalls, Help: "how the tool calls of one turn run, for new threads"},
		{Name: "max_turns", Type: Bound, Help: "model calls a run may make"},
		{Name: "max_tokens", Type: Bound, Help: "tokens a run may use, in and out"},
		{Name: "max_spend", Type: Allowance, Help: "dollars a run may spend"},
		{Name: "max_spawns", Type: Bound, Help: "runs that a run may spawn"},
		{Name: "max_depth", Type: Bound, Help: "generations of runs that may be below a run"},
		{Name: "max_duration", Type: Duration, Help: "how long a run may take"},
		{Name: "max_children", Type: Number, Help: "runs that a run spawned which are at work at once (default: 8)", each: positive},
		{Name: "stop_on_tool", Type: Words, Help: "tools whose call ends a run"},
		{Name: "stop_on_text", Type: Lines, Help: "regular expressions; an answer that one matches ends a run", each: expression},
		{Name: "stop_on_errors", Type: Number, Help: "turns in a row all of whose calls failed, which end a run; 0 is off"},
		{Name: "stop_on_loop", Type: Number, Help: "two turns among so many last ones that make the same calls end a run; 0 is off"},
		{Name: "caps", Type: Words, Help: "globs of what runs may do, as tool.* (default: the tools given)", grants: always},
		{Name: "rules", Type: Path, Help: "file of rules about what a run does at its turning points", grants: always},
		{Name: "context.tokens", Type: Number, Help: "tokens that the model is given at most (default: what it takes, if known)"},
		{Name: "context.messages", Type: Number, Help: "messages that the model is given at most (default: 200)"},
		{Name: "context.summarise", Choices: []string{"true", "false"}, Default: "false", Help: "whether what no longer fits is summarised"},
		{Name: "context.model", Help: "PROVIDER/NAME that summarises (default: that of the run)"},
		{Name: "models.*.context", Type: Number, Help: "tokens that PROVIDER/NAME takes, input and output together"},
		{Name: "wait", Type: Duration, Help: "how long to wait for an answer"},
		{Name: "on_active", Default: "queue", Choices: []string{"queue", "reject", "interrupt", "steer"}, Help: "what to do about a busy thread"},
		{Name: "memory_mode", Default: "persistent", Choices: []string{"persistent", "guest", "incognito"}, Help: "whether conversations are kept"},
		{Name: "output", Default: "table", Choices: []string{"table", "json", "jsonl"}, Help: "how results are printed"},
		{Name: "color", Default: "auto", Choices: []string{"auto", "always", "never"}, Help: "colour on a terminal"},
		{Name: "plain", Default: "false", Choices: []string{"true", "false", "1", "0"}, Help: "chat line by line, without a screen of its own"},
		{Name: "log.level", Default: "warn", Choices: []string{"debug", "info", "warn", "error"}, Help: "least severe log record on stderr"},
		{Name: "log.format", Default: "text", Choices: []string{"text", "json"}, Help: "form of log records"},
		{Name: "metrics.file", Type: Path, Help: "file that what runs did is counted in, for Prometheus", grants: always},
		{Name: "tools.use", Type: Words, Help: "tools of new threads", grants: always},
		{Name: "tools.append_file.root", Type: Path, Help: "folder append_file may write in (default: the working directory)", grants: always},
		{Name: "tools.append_file.on_unknown", Default: "ask", Choices: []string{"ask", "probe", "retry", "fail"}, Help: "what becomes of an append that a crash interrupted", grants: always},
		{Name: "tools.http_get.allow", Type: Phrases, Help: "hosts http_get may ask: NAME, *.NAME, * or an address, with or without :PORT", grants: always},
		{Name: "tools.http_get.timeout", Type: Duration, Help: "how long http_get may take (default: 30s)"},
		{Name: "tools.shell.allow", Type: Phrases, Help: "commands shell may run unasked: a first word, a whole command or a pattern with *", grants: always},
		{Name: "tools.shell.dir", Type: Path, Help: "where shell runs commands (default: the working directory)", grants: always},
		{Name: "tools.shell.timeout", Type: Duration, Help: "how long a command of shell may take (default: 1m)"},
		{Name: "agents.*.description", Help: "what an agent is for; models that may have it do things are told"},
		{Name: "agents.*.model", Help: "PROVIDER/NAME of an agent (default: that of who spawns it)"},
		{Name: "agents.*.fallbacks", Type: Words, Help: "models that answer when the one before cannot"},
		{Name: "agents.*.system", Help: "its system prompt: text, or @FILE", grants: fromFile},
		{Name: "agents.*.tools", Type: Words, Help: "its tools", grants: always},
		{Name: "agents.*.tool_calls", Choices: toolCalls, Help: "how the tool calls of one turn run"},
		{Name: "agents.*.caps", Type: Words, Help: "globs of what its runs may do (default: what who spawns it may)", grants: always},
		{Name: "agents.*.max_turns", Type: Bound, Help: "model calls a run of it may make"},
		{Name: "agents.*.max_tokens", Type: Bound, Help: "tokens a run of it may use"},
		{Name: "agents.*.max_spend", Type: Allowance, Help: "dollars a run of it may spend"},
		{Name: "agents.*.max_spawns", Type: Bound, Help: "runs that a run of it may spawn"},
		{Name: "agents.*.max_depth", Type: Bound, Help: "generations of runs that may be below a run of it"},
		{Name: "agents.*.max_duration", Type: Duration, Help: "how long a run of it may take"},
		{Name: "mcp.*.command", Type: Command, Help: "command that starts an MCP server", grants: always},
		{Name: "mcp.*.args", Type: Phrases, Help: "arguments of the command, besides", grants: always},
		{Name: "mcp.*.env.*", Help: "environment of an MCP server, besides PATH and HOME", Secret: true, grants: always},
		{Name: "mcp.*.dir", Type: Path, Help: "where the command runs (default: the working directory)", grants: always},
		{Name: "mcp.*.url", Help: "address of an MCP server", grants: always},
		{Name: "mcp.*.headers.*", Help: "HTTP headers sent to an MCP server", Secret: true, grants: always},
		{Name: "mcp.*.timeout", Type: Duration, Help: "how long a call of its tools may take (default: 5m)", grants: always},
		{Name: "mcp.*.effect", Choices: effects, Help: "what running any of its tools twice does (default: what the server hints at)", grants: always},
		{Name: "mcp.*.tools.*.effect", Choices: effects, Help: "what running this tool of it twice does", grants: always},
		{Name: "mcp.*.on_unknown", Choices: []string{"ask", "retry", "fail"}, Help: "what becomes of a call that a crash interrupted (default: ask)", grants: always},
	}
	for _, p := range []struct{ name, model, base string }{
		{"openai", "gpt-5-mini", "https://api.openai.com/v1/"},
		{"anthropic", "claude-sonnet-4-5", "https://api.anthropic.com/"},
		{"gemini", "gemini-2.5-flash", "https://generativelanguage.googleapis.com/v1beta/openai/"},
		{"ollama", "llama3.2", "http://127.0.0.1:11434/v1/"},
		{"vllm", "", "http://127.0.0.1:8000/v1/"},
	} {
		at, env := "providers."+p.name, strings.ToUpper(p.name)
		keys = append(keys,
			Key{Name: at + ".model", Default: p.model, Help: "model when none is chosen"},
			Key{Name: at + ".base_url", Default: p.base, Env: []string{env + "_BASE_URL"}, Help: "address of the service", grants: always},
			Key{Name: at + ".api_key", Secret: true, Env: []string{env + "_API_KEY"}, Help: "credential", grants: always})
	}
	return append(keys,
		Key{Name: "providers.anthropic.thinking", Help: "how Claude thinks: adaptive, or a number of tokens (default: as the model likes)", grants: always},
		Key{Name: "providers.anthropic.cache", Default: "on", Choices: []string{"on", "off"}, Help: "whether Anthropic may keep requests for five minutes, which makes long conversations cheaper", grants: always},
		Key{Name: "prices.*.input", Type: Dollars, Help: "dollars a million input tokens of PROVIDER/NAME", grants: always},
		Key{Name: "prices.*.cached_input", Type: Dollars, Help: "dollars a million input tokens that were cached (default: as other input)", grants: always},
		Key{Name: "prices.*.cache_write", Type: Dollars, Help: "dollars a million input tokens that are put into the cache (default: as other input; a quarter more at Anthropic)", grants: always},
		Key{Name: "prices.*.output", Type: Dollars, Help: "dollars a million output tokens of PROVIDER/NAME", grants: always})
}

// listed reports whether a value of the key is a list.
func (k *Key) listed() bool { return slices.Contains([]Type{Words, Phrases, Lines, Command}, k.Type) }

// Variables names the environment variables of the key, the one that counts
// first first. A key with a wildcard has none.
func (k *Key) Variables() []string {
	if strings.Contains(k.Name, "*") {
		return nil
	}
	own := "SELVAGE_" + strings.ToUpper(strings.ReplaceAll(k.Name, ".", "_"))
	return append([]string{own}, k.Env...)
}

// check reports what is wrong with text as a value of the key.
func (k *Key) check(text string) error {
	if len(k.Choices) > 0 && !slices.Contains(k.Choices, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(k.Choices, ", "))
	}
	var err error
	switch k.Type {
	case Number:
		_, err = ParseNumber(text)
	case Bound:
		_, err = ParseBound(text)
	case Dollars:
		_, err = ParseDollars(text)
	case Allowance:
		_, err = ParseAllowance(text)
	case Duration:
		_, err = ParseDuration(text)
	case Store, Path:
		if text == "" {
			err = fmt.Errorf("it may not be empty")
		}
	}
	return err
}

// checkEach reports what is wrong with the texts of a list.
func (k *Key) checkEach(texts []string) error {
	for _, text := range texts {
		if k.each == nil {
			break
		}
		if err := k.each(text); err != nil {
			return err
		}
	}
	return nil
}

// ParseNumber reads a whole number from 0 on.
func ParseNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a whole number from 0 on", text)
	}
	return n, nil
}

// None is the text of a limit that is none.
const None = "none"

// ParseBound reads a whole number from 0 on, or none, which is nil.
func ParseBound(text string) (*int, error) {
	if text == None {
		return nil, nil
	}
	n, err := ParseNumber(text)
	if err != nil {
		return nil, fmt.Errorf("%w, and not none", err)
	}
	return &n, nil
}

// ParseAllowance reads an amount of dollars from 0 on, or none, which is nil.
func ParseAllowance(text string) (*selvage.Money, error) {
	if text == None {
		return nil, nil
	}
	m, err := ParseDollars(text)
	if err != nil {
		return nil, fmt.Errorf("%w, and not none", err)
	}
	return &m, nil
}

// ParseDollars reads an amount of dollars from 0 on.
func ParseDollars(text string) (selvage.Money, error) {
	m, err := selvage.ParseMoney(text)
	if err != nil || m < 0 {
		return 0, fmt.Errorf("%q is not an amount of dollars such as 0.50", text)
	}
	return m, nil
}

// ParseDuration reads a duration as Go writes it, or a number of days: 90s,
// 1h30m, 7d. It is above zero.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * 24 * time.Hour
		if n > 36500 {
			err = strconv.ErrRange
		}
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration such as 90s, 1h30m or 7d", text)
	}
	return d, nil
}
