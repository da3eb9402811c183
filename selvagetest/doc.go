// Package selvagetest is for people who build agents and test them.
//
// [Crash] kills the process of an agent again and again, the hard way, at every
// place where it matters, lets it go on, and tells which effects were repeated
// and which were lost. [Replay] leads a thread of production, exported with
// `selvage thread export --format fixture`, once more without network, models
// and effects, and tells what came out differently.
package selvagetest
