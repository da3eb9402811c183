package main

import "slices"

// mutants are all the mistakes: those that have been made in stores like these
// before, and one at least for each group of promises.
func mutants() []mutant {
	return slices.Concat(durabilityMutants(), sqliteMutants(), postgresMutants(), judgementMutants(), memoryMutants(), layerMutants(), runMutants())
}
