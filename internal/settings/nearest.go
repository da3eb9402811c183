package settings

import "github.com/selvagehq/selvage/internal/nearest"

// Nearest returns the name that was most likely meant by what was written, or
// "" if none is near; see [nearest.Name].
func Nearest(written string, names []string) string { return nearest.Name(written, names) }
