package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// separator stands between the names of a server and its tool.
const separator = "__"

// maxName is how long the name of a tool may be.
const maxName = 64

// Split tells the server and the rest of a tool's name apart, if it may be
// that of a server's tool.
func Split(name string) (server, rest string, ok bool) {
	server, rest, ok = strings.Cut(name, separator)
	return server, rest, ok && server != "" && rest != ""
}

// namesFor names the tools of a server as models may call them. The same tools
// have the same names, in whatever order they come.
func namesFor(server string, tools []string) map[string]string {
	names, taken := map[string]string{}, map[string]bool{}
	var altered []string
	for _, t := range tools {
		if name := server + separator + t; t != "" && len(name) <= maxName && cleaned(t) == t {
			names[t], taken[name] = name, true
		} else {
			altered = append(altered, t)
		}
	}
	slices.Sort(altered)
	for _, t := range slices.Compact(altered) {
		name := server + separator + cleaned(t)
		for salt := t; t == "" || len(name) > maxName || taken[name]; salt += "'" {
			sum := sha256.Sum256([]byte(salt))
			mark := "_" + hex.EncodeToString(sum[:4])
			whole := server + separator + cleaned(t)
			name = whole[:min(len(whole), maxName-len(mark))] + mark
			if !taken[name] {
				break
			}
		}
		names[t], taken[name] = name, true
	}
	return names
}

// cleaned replaces what no model may call by '_'.
func cleaned(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}
