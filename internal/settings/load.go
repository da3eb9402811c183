package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/selvagehq/selvage/internal/yamlx"
)

// FileName is the name of the files that are read.
const FileName = "selvage.yaml"

// Inputs are the places that are asked. Nil funcs have nothing.
type Inputs struct {
	Dir        string // the working directory, absolute
	UserDir    string // the folder of the user's own file, absolute; may be empty
	SkipFiles  bool   // read none
	LookupEnv  func(name string) (string, bool)
	LookupFlag func(key string) (text, flag string, given bool)
	// Trusted reports whether the user trusts a directory. It is asked only
	// if the file there says something that needs it.
	Trusted func(dir string) (bool, error)
}

// File is one that was looked for.
type File struct {
	Path    string
	Source  Source
	Found   bool
	Trusted bool // its keys count, all of them
}

// Ignored is a key of a file that did not count.
type Ignored struct {
	Key  string
	File string
	Line int
}

// Settings are the resolved values.
type Settings struct {
	Files   []File
	Ignored []Ignored
	values  map[string]Value
	order   []string
}

// Error is a value that cannot be used, or a file that cannot be read.
type Error struct {
	Where  string // file:line, variable or flag
	Reason string
	Hint   string
	Err    error // the cause, if there is one
}

func (e *Error) Error() string { return e.Where + ": " + e.Reason }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Load resolves every key. Errors are [*Error].
func Load(in Inputs) (*Settings, error) {
	s := &Settings{values: map[string]Value{}}
	keys := Keys()
	for i := range keys {
		keys[i].rank = i
	}
	for i := range keys {
		if k := &keys[i]; !strings.Contains(k.Name, "*") {
			s.put(k, k.Name, Value{Text: k.Default, Words: k.words(k.Default), Source: FromDefault})
		}
	}
	if !in.SkipFiles {
		if err := s.addFiles(keys, in); err != nil {
			return nil, err
		}
	}
	for i := range keys {
		if err := s.addOutside(&keys[i], in); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Get returns the value of a key, which may stand for a wildcard. A key that
// nobody set and that has no default answers an empty text.
func (s *Settings) Get(key string) Value {
	if v, ok := s.values[key]; ok {
		return v
	}
	return Value{Key: key, Source: FromDefault}
}

// All returns every value, in the order people are shown them.
func (s *Settings) All() []Value {
	all := make([]Value, 0, len(s.order))
	for _, key := range s.order {
		all = append(all, s.values[key])
	}
	slices.SortStableFunc(all, func(a, b Value) int { return a.rank - b.rank })
	return all
}

func (s *Settings) put(k *Key, name string, v Value) {
	v.Key, v.Reserved, v.Secret, v.typ, v.rank = name, k.Reserved, k.Secret, k.Type, k.rank
	if _, known := s.values[name]; !known {
		s.order = append(s.order, name)
	}
	s.values[name] = v
}

// addOutside takes the value of the environment, and of a flag over it.
func (s *Settings) addOutside(k *Key, in Inputs) error {
	for _, variable := range k.Variables() {
		if in.LookupEnv == nil {
			break
		}
		if text, ok := in.LookupEnv(variable); ok && text != "" {
			if err := s.putText(k, text, FromEnvironment, variable, in.Dir); err != nil {
				return err
			}
			break
		}
	}
	if in.LookupFlag == nil {
		return nil
	}
	if text, flag, given := in.LookupFlag(k.Name); given {
		return s.putText(k, text, FromFlag, flag, in.Dir)
	}
	return nil
}

func (s *Settings) putText(k *Key, text string, source Source, where, dir string) error {
	if err := k.check(text); err != nil {
		return &Error{Where: where, Reason: err.Error()}
	}
	if err := k.checkEach(k.words(text)); err != nil {
		return &Error{Where: where, Reason: err.Error()}
	}
	if k.Type == Path {
		text = absolute(text, dir)
	}
	s.put(k, k.Name, Value{Text: text, Words: k.words(text), Source: source, Where: where})
	return nil
}

// words splits what stands for a list in one text.
func (k *Key) words(text string) []string {
	separator := ","
	switch k.Type {
	case Phrases:
	case Lines:
		separator = "\n"
	default:
		return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	}
	var all []string
	for phrase := range strings.SplitSeq(text, separator) {
		if phrase = strings.TrimSpace(phrase); phrase != "" {
			all = append(all, phrase)
		}
	}
	return all
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func (s *Settings) addFiles(keys []Key, in Inputs) error {
	user := ""
	if in.UserDir != "" {
		user = filepath.Join(in.UserDir, FileName)
		found, err := s.addFile(keys, File{Path: user, Source: FromUserFile, Trusted: true})
		if err != nil {
			return err
		}
		s.Files = append(s.Files, found)
	}
	project := File{Path: filepath.Join(in.Dir, FileName), Source: FromProjectFile}
	if project.Path == user {
		return nil
	}
	if in.Trusted != nil {
		if _, err := os.Lstat(project.Path); err == nil {
			if project.Trusted, err = in.Trusted(in.Dir); err != nil {
				return err
			}
		}
	}
	found, err := s.addFile(keys, project)
	if err != nil {
		return err
	}
	s.Files = append(s.Files, found)
	return nil
}

func (s *Settings) addFile(keys []Key, f File) (File, error) {
	data, err := readFile(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, &Error{Where: f.Path, Reason: "it cannot be read: " + cause(err), Err: err,
			Hint: "make it a readable file, or move it away"}
	}
	f.Found = true
	doc, err := yamlx.Parse(data)
	var fault *yamlx.Error
	if errors.As(err, &fault) {
		return f, &Error{Where: place(f.Path, fault.Line), Reason: fault.Reason, Err: err}
	}
	r := reader{settings: s, keys: keys, file: f}
	return f, r.read(doc)
}

// readFile reads a configuration file; a folder or a device is not one.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Size() > yamlx.MaxBytes {
		return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size(), yamlx.MaxBytes)
	}
	return os.ReadFile(path)
}

// cause leaves out the path that an error of the os repeats.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func place(path string, line int) string {
	if line == 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}
