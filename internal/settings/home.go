package settings

import (
	"errors"
	"path/filepath"
)

// Home returns the folder of the user's data: SELVAGE_HOME, else selvage in
// XDG_DATA_HOME, else ~/.local/share/selvage. It need not exist.
func Home(lookup func(string) (string, bool), dir string) (string, error) {
	if home, ok := lookup("SELVAGE_HOME"); ok && home != "" {
		return absolute(home, dir), nil
	}
	base, err := base(lookup, "XDG_DATA_HOME", ".local", "share")
	if err != nil {
		return "", errors.New("no home is known: neither SELVAGE_HOME nor XDG_DATA_HOME nor HOME is set")
	}
	return filepath.Join(base, "selvage"), nil
}

// UserDir returns the folder of the user's own configuration: selvage in
// XDG_CONFIG_HOME or ~/.config. It is "" if neither is known.
func UserDir(lookup func(string) (string, bool)) string {
	base, err := base(lookup, "XDG_CONFIG_HOME", ".config")
	if err != nil {
		return ""
	}
	return filepath.Join(base, "selvage")
}

// base returns a base folder; as the XDG rules have it, a relative one in the
// variable does not count.
func base(lookup func(string) (string, bool), variable string, below ...string) (string, error) {
	if dir, ok := lookup(variable); ok && filepath.IsAbs(dir) {
		return dir, nil
	}
	home, ok := lookup("HOME")
	if !ok || home == "" {
		return "", errors.New("HOME is not set")
	}
	return filepath.Join(append([]string{home}, below...)...), nil
}
