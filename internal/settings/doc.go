// Package settings resolves what a user configured. Each key has one value,
// from the first of these that has it: a flag, the environment, selvage.yaml in
// the working directory, selvage.yaml of the user, the default. Files merge key
// by key, and every value remembers where it came from.
//
// A file in the working directory may come with a repository of somebody else.
// What it says about keys that grant power (what to run, where to send
// conversations, what may be touched) does not count until the user trusts the
// directory; such keys are listed as ignored instead.
//
// Reading never writes. The package knows the names and the types of the keys,
// not what they do.
package settings
