// Package mcp offers the tools of servers that speak the Model Context
// Protocol, over the standard streams of a process or streamable HTTP.
//
//	client, err := mcp.Connect(ctx, mcp.Server{Name: "files", Command: "mcp-files", Args: []string{"/srv"}}, mcp.Options{})
//	...
//	defer client.Close()
//	tools, err := client.Tools(ctx)
//
// A tool of the server is the tool SERVER__TOOL of a run, with the argument
// schema the server tells. What running it twice would do is what the server
// hints at, unless [Server] says otherwise: a tool that only reads has effect
// none, one that may be repeated is idempotent, and any other has effect once,
// with somebody asked about calls of unknown outcome. A server that lies about
// that is believed; connect to servers that you trust, or say it yourself.
//
// A server that dies fails the calls it was busy with, and is started or
// connected to again by the next one.
package mcp
