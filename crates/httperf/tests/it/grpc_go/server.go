// A server of Go's gRPC at a port of loopback: an echo of text, a stream, errors, health and reflection. Its messages are
// those that protobuf has for values, so that no code needs to be generated.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func text(decode func(any) error) (*wrapperspb.StringValue, error) {
	message := new(wrapperspb.StringValue)
	return message, decode(message)
}

func echo(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	return text(decode)
}

func fail(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	message, err := text(decode)
	if err != nil {
		return nil, err
	}
	return nil, status.Error(codes.AlreadyExists, "there is "+message.Value+" already: 100 %")
}

func slow(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(5 * time.Second):
		return text(decode)
	}
}

func stream(_ any, stream grpc.ServerStream) error {
	message, err := text(stream.RecvMsg)
	if err != nil {
		return err
	}
	for range 6 {
		time.Sleep(10 * time.Millisecond)
		if err := stream.SendMsg(message); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "t.Test",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			{MethodName: "Echo", Handler: echo},
			{MethodName: "Fail", Handler: fail},
			{MethodName: "Slow", Handler: slow},
		},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", Handler: stream, ServerStreams: true}},
	}, struct{}{})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	log.Fatal(server.Serve(listener))
}
