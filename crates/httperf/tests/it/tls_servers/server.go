// A server on Go's crypto/tls that writes replies in records of a chosen size.
//
//	GET /reply/N   a reply of N bytes in all, in one write
//	GET /cut       a reply that ends with the connection, ended without a close_notify
//	GET /whole     the same, ended properly
package main

import (
	"bufio"
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
)

var (
	listen  = flag.String("listen", "127.0.0.1:0", "address")
	curves  = flag.String("curves", "", "P-384 or P-521: the only group taken")
	tickets = flag.Bool("tickets", true, "whether sessions can be resumed")
	max12   = flag.Bool("max12", false, "whether TLS 1.3 is left out")
)

func main() {
	flag.Parse()
	certificate, err := tls.LoadX509KeyPair("server.pem", "server.key")
	if err != nil {
		log.Fatal(err)
	}
	config := &tls.Config{
		Certificates:                []tls.Certificate{certificate},
		DynamicRecordSizingDisabled: true,
		SessionTicketsDisabled:      !*tickets,
	}
	switch *curves {
	case "P-384":
		config.CurvePreferences = []tls.CurveID{tls.CurveP384}
	case "P-521":
		config.CurvePreferences = []tls.CurveID{tls.CurveP521}
	}
	if *max12 {
		config.MaxVersion = tls.VersionTLS12
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	for {
		transport, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(transport, tls.Server(transport, config))
	}
}

func serve(transport net.Conn, conn *tls.Conn) {
	defer transport.Close()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		path := request.URL.Path
		switch {
		case strings.HasPrefix(path, "/reply/"):
			size, err := strconv.Atoi(strings.TrimPrefix(path, "/reply/"))
			if err != nil {
				return
			}
			conn.Write(reply(size))
		case path == "/whole":
			conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\nhello"))
			conn.Close()
			return
		case path == "/cut":
			conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\nhello"))
			return
		default:
			return
		}
	}
}

// A reply of size bytes, header included.
func reply(size int) []byte {
	for length := size; ; length-- {
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", length)
		if len(head)+length <= size {
			// A step in the digits of the length is made up for in the header.
			head = strings.Replace(head, "\r\n\r\n", strings.Repeat(" ", size-len(head)-length)+"\r\n\r\n", 1)
			return []byte(head + strings.Repeat("x", length))
		}
	}
}
