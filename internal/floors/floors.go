// Package floors knows the house: which package stands on which floor, and
// which imports are allowed between them. Its test holds every import of the
// module against that, so that the layering in docs/architecture.md stays true.
package floors

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"
)

// Module is the path all packages of the house start with.
const Module = "github.com/selvagehq/selvage"

// plan gives the floor of a package, or of every package below a folder that
// ends in "/". The longest match counts. The root package is ".".
var plan = map[string]int{
	".": 0, "state": 0,
	"store/storetest": 1, "store/commit": 1, "store/record": 1, "store/archive": 1, "policy": 1, "budget": 1, "caps": 1, "rules": 1, "model/": 1, "tool/": 1, "wire": 1,
	"store/":  2,
	"runner/": 3, "dispatch/": 3, "recall/": 3, "stores": 3,
	"server/": 4, "client/": 4, "protocol/": 4, "telemetry": 4, "fixture": 4,
	"daemon/": 5, "console/": 5,
	"cli/": 6, "cmd/": 6, "selvagetest/": 6,
}

// inner are the helpers that serve every floor above the ground, and free the
// folders that may import anything.
const inner, free = "internal/", "bench/ examples/"

// families are sideways imports that are allowed: from anything below the
// folder to the package named.
var families = []struct{ from, to string }{
	{"model/", "model"}, {"model/", "model/internal/service"}, {"tool/", "tool"}, {"protocol/", "server"}, {"cmd/selvage", "cli"}, {"cli/", "cli"}, {"cli", "cli/tui"},
	// The root is built on the state algebra.
	{".", "state"},
}

// stands reports whether pkg is the package named by at, or below it if at
// ends in "/".
func stands(pkg, at string) bool {
	folder, below := strings.CutSuffix(at, "/")
	return pkg == folder || below && strings.HasPrefix(pkg, at)
}

// floor returns the floor of pkg.
func floor(pkg string) (int, bool) {
	best, number := -1, 0
	for at, n := range plan {
		if stands(pkg, at) && len(at) > best {
			best, number = len(at), n
		}
	}
	return number, best >= 0
}

// Check returns why package from may not import package to, both relative to
// the module, or "" if it may.
func Check(from, to string) string {
	for at := range strings.FieldsSeq(free) {
		if stands(from, at) {
			return ""
		}
	}
	f, known := floor(from)
	t, target := floor(to)
	switch {
	case stands(from, inner):
		if target && t > 0 {
			return fmt.Sprintf("%s serves floors 1 and up, so it may import floor 0 only, and %s is on floor %d", from, to, t)
		}
		return ""
	case !known:
		return fmt.Sprintf("%s stands on no floor: give it one in internal/floors", from)
	case stands(to, inner):
		if f == 0 {
			return fmt.Sprintf("%s is on the ground floor, which imports the standard library and state only", from)
		}
		return ""
	case !target:
		return fmt.Sprintf("%s stands on no floor: give it one in internal/floors", to)
	case t < f:
		return ""
	}
	for _, family := range families {
		if stands(from, family.from) && to == family.to {
			return ""
		}
	}
	if t > f {
		return fmt.Sprintf("%s (floor %d) imports upward: %s (floor %d)", from, f, to, t)
	}
	return fmt.Sprintf("%s imports sideways: %s is on floor %d too", from, to, f)
}

// Violations reads the imports of every Go file below root that is not a test
// and returns what Check has against them, in order, and how many imports of
// the module it read.
func Violations(root fs.FS) (faults []string, read int, err error) {
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || name == "tools" || len(name) > 1 && name[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		imports, err := importsOf(root, file)
		if err != nil {
			return err
		}
		for _, to := range imports {
			to, ours := strings.CutPrefix(to+"/", Module+"/")
			if !ours {
				continue
			}
			read++
			if fault := Check(path.Dir(file), path.Clean(to)); fault != "" {
				faults = append(faults, file+": "+fault)
			}
		}
		return nil
	})
	sort.Strings(faults)
	return faults, read, err
}

func importsOf(root fs.FS, file string) ([]string, error) {
	source, err := fs.ReadFile(root, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var imports []string
	for _, spec := range parsed.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		imports = append(imports, to)
	}
	return imports, nil
}
