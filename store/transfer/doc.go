// Package transfer moves threads between stores and files: the log of a thread
// as lines of JSON, and everything a store keeps into another store. Headers
// are never rewritten, so that versions, hashes and receipts stay what they
// were, and whoever reads a log proves it while doing so.
package transfer
