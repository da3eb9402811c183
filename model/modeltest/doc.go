// Package modeltest is what every model that is asked over HTTP promises about
// its connection, as tests. What an answer looks like on the wire differs from
// provider to provider and is tested there; what becomes of a cancelled answer,
// of a key and of a connection does not.
package modeltest
