package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serveVariable makes the test's program a server: "stdio", or "http" which
// prints its address.
const serveVariable = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	switch os.Getenv(serveVariable) {
	case "stdio":
		if err := newServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			log.Print(err)
			os.Exit(1)
		}
		os.Exit(0)
	case "http":
		serveHTTP()
	case "mute": // starts, and never says a word
		_, _ = os.Stdin.Read(make([]byte, 1))
		select {}
	case "broken":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(4)
	default:
		goleak.VerifyTestMain(m)
	}
}

func serveHTTP() {
	listener, err := net.Listen("tcp", os.Getenv("MCP_TEST_ADDRESS"))
	if err != nil {
		log.Fatal(err)
	}
	server := newServer()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: os.Getenv("MCP_TEST_STATELESS") != "", JSONResponse: os.Getenv("MCP_TEST_JSON") != ""})
	fmt.Println(listener.Addr())
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})))
}

// object is a schema that no type of Go could have: its numbers are beyond
// float64, and its order is its own.
const object = `{"type":"object","title":"z","properties":{"n":{"maximum":9007199254740993},"b":{"type":"string"},"a":{"type":"integer"}}}`

// newServer has a tool for everything that a client must get right.
func newServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	yes := true
	reads := &sdk.ToolAnnotations{ReadOnlyHint: true}
	add := func(name string, hints *sdk.ToolAnnotations, run sdk.ToolHandler) {
		s.AddTool(&sdk.Tool{Name: name, Description: "does " + name, Annotations: hints, InputSchema: json.RawMessage(object)}, run)
	}
	say := func(text string) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
	add("echo", reads, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say(string(r.Params.Arguments))
	})
	add("get.info", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return say("dotted") })
	add("meta", &sdk.ToolAnnotations{IdempotentHint: true}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say(fmt.Sprint(r.Params.Meta["io.github.selvagehq/idempotency-key"]))
	})
	add("write", &sdk.ToolAnnotations{DestructiveHint: &yes}, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return say("written") })
	add("plain", nil, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return say("plain") })
	add("numbers", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "see data"}}, StructuredContent: json.RawMessage(`{"n":9007199254740993,"x":1.10}`)}, nil
	})
	add("twice", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: `{ "n": 9007199254740993 }`}}, StructuredContent: json.RawMessage(`{"n":9007199254740993}`)}, nil
	})
	add("parts", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "one"},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")},
			&sdk.ResourceLink{URI: "file:///a", Name: "a", Description: "a file"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Text: "content of b"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", MIMEType: "application/zip", Blob: []byte("zip")}},
			&sdk.ImageContent{MIMEType: "image/png"},
		}}, nil
	})
	add("big", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("x", 2<<20)}, &sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, 1<<20)}}}, nil
	})
	add("nothing", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{}}, nil
	})
	add("fail", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such page"}}}, nil
	})
	add("refuse", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, fmt.Errorf("not today")
	})
	add("environ", reads, func(_ context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		dir, err := os.Getwd()
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(os.Environ(), "\n") + "\ndir=" + dir}}}, err
	})
	add("wait", reads, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 2 {
			p := &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 2, Message: "working"}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
		}
		<-ctx.Done()
		fmt.Fprintln(os.Stderr, "wait was cancelled")
		return nil, ctx.Err()
	})
	add("die", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "going down")
		os.Exit(3)
		return nil, nil
	})
	add("pid", reads, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say(fmt.Sprint(os.Getpid()))
	})
	add("grow", nil, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("grown", reads, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return say("grown") })
		return say("grew")
	})
	add("stubborn", reads, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		p := &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1}
		if err := r.Session.NotifyProgress(ctx, p); err != nil {
			return nil, err
		}
		time.Sleep(time.Hour) // nothing ends it
		return nil, nil
	})
	return s
}
