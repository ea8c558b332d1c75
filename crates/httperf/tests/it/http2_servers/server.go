// Go's net/http over HTTP/2, with and without TLS.
//
// SIGHUP has another server take over: the one before shuts down in order.
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	listen  = flag.String("listen", "", "where to listen")
	secured = flag.Bool("tls", false, "speak TLS, as server.pem")
	old     = flag.Bool("http1", false, "speak HTTP/1.1 alone")
	streams = flag.Int("streams", 0, "how many streams a client may have open at once")
	window  = flag.Int("window", 0, "how much of a body may be under way")
	idle    = flag.Duration("idle", 0, "how long a connection may be idle")
)

func main() {
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("pid", []byte(strconv.Itoa(os.Getpid())), 0o666); err != nil {
		log.Fatal(err)
	}
	hangups := make(chan os.Signal, 100)
	signal.Notify(hangups, syscall.SIGHUP)
	// A server closes what it listens on, so each has a descriptor of its own.
	server := start(duplicate(listener))
	for range hangups {
		next := start(duplicate(listener))
		go server.Shutdown(context.Background())
		server = next
	}
}

func duplicate(listener net.Listener) net.Listener {
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	own, err := net.FileListener(file)
	if err != nil {
		log.Fatal(err)
	}
	return own
}

func start(listener net.Listener) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(*old || *secured)
	protocols.SetHTTP2(!*old)
	protocols.SetUnencryptedHTTP2(!*old)
	server := &http.Server{
		Handler:     http.HandlerFunc(answer),
		Protocols:   protocols,
		IdleTimeout: *idle,
		ErrorLog:    log.New(io.Discard, "", 0),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          *streams,
			MaxReceiveBufferPerStream:     *window,
			MaxReceiveBufferPerConnection: *window,
		},
	}
	go func() {
		if *secured {
			server.ServeTLS(listener, "server.pem", "server.key")
		} else {
			server.Serve(listener)
		}
	}()
	return server
}

var files = http.FileServer(http.Dir("docs"))

func answer(writer http.ResponseWriter, request *http.Request) {
	path, argument, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	switch path {
	case "echo":
		echo(writer, request)
	case "late":
		time.Sleep(500 * time.Millisecond)
		echo(writer, request)
	case "trailers":
		size, err := strconv.Atoi(argument)
		if err != nil {
			writer.WriteHeader(http.StatusBadRequest)
			return
		}
		writer.Header().Set("Trailer", "x-check")
		writer.Write([]byte(strings.Repeat("x", size)))
		writer.Header().Set("x-check", "abc")
	case "request":
		fmt.Fprintf(writer, "%s %s %s %s\n", request.Proto, request.Method, request.Host, request.RequestURI)
		for name, values := range request.Header {
			fmt.Fprintf(writer, "%s: %s\n", strings.ToLower(name), strings.Join(values, " | "))
		}
	case "cookie":
		http.SetCookie(writer, &http.Cookie{Name: "one", Value: "1"})
		http.SetCookie(writer, &http.Cookie{Name: "two", Value: "2"})
		names := []string{}
		for _, cookie := range request.Cookies() {
			names = append(names, cookie.String())
		}
		fmt.Fprintf(writer, "%s\n", strings.Join(names, "+"))
	default:
		files.ServeHTTP(writer, request)
	}
}

// What came: its size and its SHA-256.
func echo(writer http.ResponseWriter, request *http.Request) {
	hash := sha256.New()
	size, err := io.Copy(hash, request.Body)
	if err != nil {
		return
	}
	fmt.Fprintf(writer, "%d %x\n", size, hash.Sum(nil))
}
