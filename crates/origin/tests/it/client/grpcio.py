"""Calls of gRPC to the test server at a port, by grpcio. Prints what it sees, a fact a line."""

import sys
import time

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}", options=[("grpc.max_receive_message_length", 8 << 20)])

# Reflection, as clients of it ask: one question after the other on a stream that stays open.
database = ProtoReflectionDescriptorDatabase(channel)
print("services", *sorted(database.get_services()))
pool = descriptor_pool.DescriptorPool(database)
service = pool.FindServiceByName("httperf.Test")
print("methods", *(method.name for method in service.methods))
Request = message_factory.GetMessageClass(pool.FindMessageTypeByName("httperf.Request"))
Reply = message_factory.GetMessageClass(pool.FindMessageTypeByName("httperf.Reply"))


def method(kind, name, answer=Reply):
    return kind(f"/httperf.Test/{name}", request_serializer=Request.SerializeToString,
                response_deserializer=answer.FromString)


echo = method(channel.unary_unary, "Echo")
stream = method(channel.unary_stream, "Stream")

before = time.time_ns()
reply = echo(Request(text="hello", payload=b"\0\1"))
print("echo", reply.text, reply.payload.hex(), reply.number, before <= reply.sent_ns <= time.time_ns())
print("size", len(echo(Request(size=3_000_000)).payload))

began = time.monotonic()
arrivals = []
for reply in stream(Request(messages=5, first_us=50_000, gap_us=20_000)):
    arrivals.append((reply.number, time.monotonic() - began))
print("stream", *(number for number, _ in arrivals), arrivals[0][1] >= 0.05, arrivals[-1][1] >= 0.13)


def outcome(calls):
    try:
        return len(list(calls())), "OK", ""
    except grpc.RpcError as error:
        return "-", error.code().name, error.details()


print("failed", *outcome(lambda: [echo(Request(status=5, message="no such thing: 100 % ü"))]))
print("failed", *outcome(lambda: stream(Request(messages=3, status=8, message="that is all"))))
print("failed", *outcome(lambda: [echo(Request(delay_us=5_000_000), timeout=0.05)])[:2])
print("failed", *outcome(lambda: stream(Request(messages=100, gap_us=100_000), timeout=0.25))[:2])
print("failed", *outcome(lambda: [method(channel.unary_unary, "Sing")(Request())]))
print("failed", *outcome(lambda: [echo(Request(size=1 << 30))]))
print("failed", *outcome(lambda: [channel.unary_unary("/httperf.Test/Echo")(b"\xff\xff")])[:2])

health = health_pb2_grpc.HealthStub(channel)
print("health", health.Check(health_pb2.HealthCheckRequest(service="httperf.Test")).status)
print("health", *outcome(lambda: [health.Check(health_pb2.HealthCheckRequest(service="nobody"))]))
watch = health.Watch(health_pb2.HealthCheckRequest())
print("watch", next(watch).status)
watch.cancel()
