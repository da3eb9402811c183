package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// mcpServer is a program that speaks the Model Context Protocol.
func mcpServer() {
	if len(os.Args) > 1 && os.Args[1] == "broken" {
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(4)
	}
	fmt.Fprintln(os.Stderr, "serving")
	if err := newMCPServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// serveMCP gives a script the same server over HTTP, at $MCP_SERVICE.
func serveMCP(env *testscript.Env) {
	server := newMCPServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	env.Defer(web.Close)
	env.Setenv("MCP_SERVICE", web.URL)
}

func newMCPServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	add := func(name string, hints *sdk.ToolAnnotations, say func(*sdk.CallToolRequest) string) {
		s.AddTool(&sdk.Tool{Name: name, Annotations: hints, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: say(r)}}}, nil
			})
	}
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true}
	add("echo", reads, func(r *sdk.CallToolRequest) string { return string(r.Params.Arguments) })
	add("colour", reads, func(*sdk.CallToolRequest) string {
		return "colour " + os.Getenv("COLOUR") + os.Getenv("OPENAI_API_KEY")
	})
	add("write", nil, func(*sdk.CallToolRequest) string { return "written" })
	add("grow", reads, func(*sdk.CallToolRequest) string {
		add("grown", reads, func(*sdk.CallToolRequest) string { return "here I am" })
		return "growing"
	})
	add("die", nil, func(*sdk.CallToolRequest) string { os.Exit(3); return "" })
	return s
}
