// Package sqlite keeps threads in one SQLite file. It is the embedded store:
// nothing to install, nothing to run, and several processes may work on the
// file at once.
//
// Every change set is one row of a log, written in one transaction with the
// head of its thread; everything else is found through the head or follows
// from the log. One goroutine writes. It takes what is queued, however much
// that is, commits it as one transaction and answers each caller after the
// commit, so that the cost of forcing the disk is shared by all who wait for
// it. Readers have connections of their own, see one consistent point each,
// and never wait for the writer.
//
// What is read is proved: every change whose content is used is checked
// against its digest, so that a byte that changed on the disk is answered with
// [selvage.ErrCorrupt] and never with a wrong message or state.
//
// The file needs a local file system: SQLite's write-ahead log does not work
// over a network.
package sqlite
