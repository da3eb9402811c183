package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// place of a test: a working directory, a folder of the user, an environment.
type bench struct {
	t       *testing.T
	dir     string
	user    string
	env     map[string]string
	flags   map[string]string
	trusted bool
}

func newBench(t *testing.T) *bench {
	root := t.TempDir()
	b := &bench{t: t, dir: filepath.Join(root, "project"), user: filepath.Join(root, "config"), env: map[string]string{}, flags: map[string]string{}}
	for _, dir := range []string{b.dir, b.user} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) write(dir, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) load() (*Settings, error) {
	return Load(Inputs{
		Dir: b.dir, UserDir: b.user,
		LookupEnv: func(name string) (string, bool) { v, ok := b.env[name]; return v, ok },
		LookupFlag: func(key string) (string, string, bool) {
			v, ok := b.flags[key]
			return v, "--" + strings.ReplaceAll(key, "_", "-"), ok
		},
		Trusted: func(string) (bool, error) { return b.trusted, nil },
	})
}

func (b *bench) mustLoad() *Settings {
	b.t.Helper()
	s, err := b.load()
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// TestPrecedence adds one place after the other, each over the one before.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	check := func(text string, source Source, where string) {
		t.Helper()
		v := b.mustLoad().Get("log.level")
		if v.Text != text || v.Source != source || v.Where != where {
			t.Errorf("log.level = %q from %s %s; want %q from %s %s", v.Text, v.Source, v.Where, text, source, where)
		}
	}
	check("warn", FromDefault, "")
	b.write(b.user, "user: ann\nlog:\n  level: info\n")
	check("info", FromUserFile, filepath.Join(b.user, FileName)+":3")
	b.write(b.dir, "log: {level: debug}\n")
	check("debug", FromProjectFile, filepath.Join(b.dir, FileName)+":1")
	b.env["SELVAGE_LOG_LEVEL"] = "error"
	check("error", FromEnvironment, "SELVAGE_LOG_LEVEL")
	b.flags["log.level"] = "info"
	check("info", FromFlag, "--log.level")
	if v := b.mustLoad().Get("user"); v.Text != "ann" {
		t.Errorf("user = %q; files must merge key by key", v.Text)
	}
}

func TestEmptyMeansNotThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(b.user, "model: sim/echo\n")
	b.write(b.dir, "model:\nlog: ~\n")
	b.env["SELVAGE_MODEL"] = ""
	if v := b.mustLoad().Get("model"); v.Text != "sim/echo" || v.Source != FromUserFile {
		t.Errorf("model = %q from %s; want sim/echo of the user's file", v.Text, v.Source)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, reason, hint string }{
		{"stor: ./x.db\n", `:1: "stor" is not a key`, "did you mean store?"},
		{"user: a\nlog:\n  levle: info\n", `:3: "log.levle" is not a key`, "did you mean log.level?"},
		{"max-turns: 3\n", `:1: "max-turns" is not a key`, "did you mean max_turns?"},
		{"log: {colour: red}\n", `"log.colour" is not a key`, "valid here: level, format"},
		{"log: debug\n", "log holds keys of its own", ""},
		{"model: [a]\n", "model is a single value, not a list", ""},
		{"max_turns: -1\n", `"-1" is not a whole number`, ""},
		{"max_turns: 1.5\n", `"1.5" is not a whole number`, ""},
		{"max_spend: cheap\n", "not an amount of dollars", ""},
		{"max_duration: soon\n", "not a duration", ""},
		{"log: {level: loud}\n", `"loud" is not one of debug, info, warn, error`, ""},
		{"store: ''\n", "it may not be empty", ""},
		{"tools: {use: [[a]]}\n", "a list of texts", ""},
		{"user: a\nuser: b\n", `:2: key "user" stands on line 1 already`, ""},
		{"- a\n", "a configuration is a mapping", ""},
		{"stores: {'': x}\n", "is not a key", "valid here: a name of yours"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.write(b.user, tt.in)
			_, err := b.load()
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("Load = %v; want an *Error", err)
			}
			if !strings.Contains(err.Error(), tt.reason) || fault.Hint != tt.hint {
				t.Errorf("Load = %q, hint %q; want ...%s..., hint %q", err, fault.Hint, tt.reason, tt.hint)
			}
		})
	}
}

func TestFaultsOutsideFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env["SELVAGE_MAX_TURNS"] = "many"
	if _, err := b.load(); err == nil || !strings.HasPrefix(err.Error(), "SELVAGE_MAX_TURNS: ") {
		t.Errorf("Load = %v; want the variable named", err)
	}
	b.env = map[string]string{}
	b.flags["max_turns"] = "-2"
	if _, err := b.load(); err == nil || !strings.HasPrefix(err.Error(), "--max-turns: ") {
		t.Errorf("Load = %v; want the flag named", err)
	}
}

func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.user, FileName), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.load(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Load = %v; a folder is no configuration", err)
	}
}

// TestPower: what grants power counts in the user's file and in a trusted
// directory, and is listed as ignored anywhere else.
func TestPower(t *testing.T) {
	t.Parallel()
	grants := []struct{ key, text string }{
		{"store", "store: postgres://db/x\n"},
		{"store", "store: /srv/all.db\n"},
		{"store", "store: ../other/app.db\n"},
		{"store", "store: sqlite:/srv/all.db\n"},
		{"store", "store: '@prod'\n"},
		{"stores.prod", "stores: {prod: ./x.db}\n"},
		{"system", "system: '@/etc/passwd'\n"},
		{"tools.use", "tools: {use: [append_file]}\n"},
		{"tools.append_file.root", "tools: {append_file: {root: /}}\n"},
		{"tools.append_file.on_unknown", "tools: {append_file: {on_unknown: retry}}\n"},
		{"tools.shell.allow", "tools: {shell: {allow: [rm]}}\n"},
		{"tools.shell.dir", "tools: {shell: {dir: /}}\n"},
		{"tools.http_get.allow", "tools: {http_get: {allow: [example.org]}}\n"},
		{"mcp.x.command", "mcp: {x: {command: [sh, -c, id]}}\n"},
		{"mcp.x.url", "mcp: {x: {url: 'http://127.0.0.1'}}\n"},
		{"mcp.x.env.A", "mcp: {x: {env: {A: b}}}\n"},
		{"mcp.x.args", "mcp: {x: {args: [b]}}\n"},
		{"mcp.x.dir", "mcp: {x: {dir: /}}\n"},
		{"mcp.x.headers.Authorization", "mcp: {x: {headers: {Authorization: b}}}\n"},
		{"mcp.x.effect", "mcp: {x: {effect: none}}\n"},
		{"mcp.x.tools.get.effect", "mcp: {x: {tools: {get: {effect: none}}}}\n"},
		{"mcp.x.on_unknown", "mcp: {x: {on_unknown: retry}}\n"},
		{"providers.openai.base_url", "providers: {openai: {base_url: 'http://127.0.0.1'}}\n"},
		{"providers.openai.api_key", "providers: {openai: {api_key: sk-1}}\n"},
		{"prices.openai/gpt-4.1.input", "prices: {openai/gpt-4.1: {input: 0}}\n"},
	}
	for _, tt := range grants {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.write(b.dir, tt.text)
			s := b.mustLoad()
			if v := s.Get(tt.key); v.Set() || len(s.Ignored) != 1 || s.Ignored[0].Key != tt.key || s.Ignored[0].Line != 1 {
				t.Errorf("untrusted: %s = %+v, ignored %+v; want it ignored", tt.key, v, s.Ignored)
			}
			b.trusted = true
			s = b.mustLoad()
			if v := s.Get(tt.key); v.Source != FromProjectFile || len(s.Ignored) != 0 {
				t.Errorf("trusted: %s = %+v, ignored %+v; want it to count", tt.key, v, s.Ignored)
			}
			b = newBench(t)
			b.write(b.user, tt.text)
			if v := b.mustLoad().Get(tt.key); v.Source != FromUserFile {
				t.Errorf("user's file: %s = %+v; want it to count", tt.key, v)
			}
		})
	}
}

func TestHarmlessKeysOfAnyFileCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(b.dir, "store: ./app.db\nmodel: sim/echo\nsystem: be brief\nmax_turns: 3\n")
	s := b.mustLoad()
	if len(s.Ignored) != 0 {
		t.Errorf("ignored %+v; none of these grants power", s.Ignored)
	}
	if got, want := s.Get("store").Text, filepath.Join(b.dir, "app.db"); got != want {
		t.Errorf("store = %q; want it beside the file, %q", got, want)
	}
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(b.user, "stores:\n  a: sqlite:a.db\n  b: ./b/\n  c: postgres://h/x\ntools: {append_file: {root: notes}}\nsystem: '@brief.txt'\n")
	s := b.mustLoad()
	for key, want := range map[string]string{
		"stores.a":               "sqlite:" + filepath.Join(b.user, "a.db"),
		"stores.b":               filepath.Join(b.user, "b") + "/",
		"stores.c":               "postgres://h/x",
		"tools.append_file.root": filepath.Join(b.user, "notes"),
		"system":                 "@" + filepath.Join(b.user, "brief.txt"),
	} {
		if got := s.Get(key).Text; got != want {
			t.Errorf("%s = %q; want %q", key, got, want)
		}
	}
	b.env["SELVAGE_TOOLS_APPEND_FILE_ROOT"] = "here"
	if got, want := b.mustLoad().Get("tools.append_file.root").Text, filepath.Join(b.dir, "here"); got != want {
		t.Errorf("from the environment = %q; want %q", got, want)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(b.user, "store: postgres://ann:hunter2@db/x?sslmode=off&token=hunter2\nproviders: {gemini: {api_key: hunter2}}\nmcp: {m: {env: {KEY: hunter2}, headers: {A: hunter2}, args: [a, --token=hunter2]}}\n")
	b.env["OPENAI_API_KEY"] = "hunter2"
	shown := 0
	for _, v := range b.mustLoad().All() {
		if strings.Contains(v.Shown(), "hunter2") {
			t.Errorf("%s is shown as %q", v.Key, v.Shown())
		}
		if strings.Contains(v.Shown(), Hidden) {
			shown++
		}
	}
	if shown != 6 {
		t.Errorf("%d values are shown hidden; want 6", shown)
	}
	for text, want := range map[string]string{
		"host=db password=hunter2 user=ann": "host=db password=******** user=ann",
		`password = 'a \'b' dbname=x`:       "password=******** dbname=x",
		"postgres:/ann:hun/ter2@db:5432/x":  "postgres:/ann:********@db:5432/x",
		"ann:hunter2@db":                    "ann:********@db",
		"./app.db":                          "./app.db",
		"sim/echo":                          "sim/echo",
		"/home/ann@corp/a=b.db":             "/home/ann@corp/a=b.db",
	} {
		if got := Redact(text); got != want {
			t.Errorf("Redact(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Redact("http://[::1"); strings.Contains(got, "[") {
		t.Errorf("Redact of what is no URL = %q", got)
	}
}

func TestEveryKeyIsShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(b.user, "stores: {z: ./z.db, a: ./a.db}\n")
	var got []string
	for _, v := range b.mustLoad().All() {
		got = append(got, v.Key)
	}
	if strings.Join(got[:4], " ") != "store stores.z stores.a model" {
		t.Errorf("keys begin %v", got[:4])
	}
	plain := 0
	for _, k := range Keys() {
		if !strings.Contains(k.Name, "*") {
			plain++
		}
	}
	if len(got) != plain+2 {
		t.Errorf("%d values; want %d", len(got), plain+2)
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("p", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	trust := Trust{Path: filepath.Join(root, "trust.json")}
	has := func(dir string, want bool) {
		t.Helper()
		if got, err := trust.Has(filepath.Join(root, dir)); err != nil || got != want {
			t.Errorf("Has(%s) = %v, %v; want %v", dir, got, err, want)
		}
	}
	has("p", false)
	for range 2 {
		if _, err := trust.Add(filepath.Join(root, "link")); err != nil {
			t.Fatal(err)
		}
	}
	has("p", true)
	has("link", true)
	has(".", false)
	if all, err := trust.Directories(); err != nil || len(all) != 1 {
		t.Errorf("Directories = %v, %v; want one", all, err)
	}
	if _, err := trust.Remove(filepath.Join(root, "p")); err != nil {
		t.Fatal(err)
	}
	has("p", false)
	if err := os.WriteFile(trust.Path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trust.Has(root); err == nil {
		t.Error("a torn list was read")
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	tests := []struct {
		env        map[string]string
		home, user string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.local/share/selvage", "/h/.config/selvage"},
		{map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}, "/d/selvage", "/c/selvage"},
		{map[string]string{"HOME": "/h", "XDG_DATA_HOME": "d"}, "/h/.local/share/selvage", "/h/.config/selvage"}, // relative: not counted
		{map[string]string{"SELVAGE_HOME": "s"}, "/w/s", ""},
		{map[string]string{}, "", ""},
	}
	for _, tt := range tests {
		lookup := func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
		home, err := Home(lookup, "/w")
		if home != tt.home || (err == nil) != (tt.home != "") {
			t.Errorf("Home(%v) = %q, %v; want %q", tt.env, home, err, tt.home)
		}
		if user := UserDir(lookup); user != tt.user {
			t.Errorf("UserDir(%v) = %q; want %q", tt.env, user, tt.user)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"store", "stores", "model", "log", "thread"}
	for written, want := range map[string]string{"stroe": "store", "Model": "model", "lgo": "log", "threads": "thread", "x": "", "colour": "", "mo": ""} {
		if got := Nearest(written, names); got != want {
			t.Errorf("Nearest(%q) = %q; want %q", written, got, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"90s", "1h30m", "7d"} {
		if d, err := ParseDuration(text); err != nil || d <= 0 {
			t.Errorf("ParseDuration(%q) = %v, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "0", "0d", "-1s", "1d12h", "7", "99999999d"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v; want an error", text, d)
		}
	}
}
