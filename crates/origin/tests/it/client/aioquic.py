"""Asks a server over HTTP/3, with aioquic, and prints what it sees: a word and a value in each line.

Arguments: the port, the path, bytes of a body (0 for a GET), and the number of connections, of which each after the first
resumes the session of the one before and asks with early data."""

import asyncio
import ssl
import sys

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, StopSendingReceived, StreamReset


class Client(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = H3Connection(self._quic)
        self.over = asyncio.get_running_loop().create_future()
        self.size = 0
        self.end = None

    def say(self, word, value):
        print(word, value, flush=True)

    def finish(self):
        if not self.over.done():
            self.over.set_result(None)

    def quic_event_received(self, event):
        if isinstance(event, HandshakeCompleted):
            self.say("resumed", event.session_resumed)
            self.say("early", event.early_data_accepted)
        elif isinstance(event, StreamReset):
            self.say("reset", hex(event.error_code))
            self.finish()
        elif isinstance(event, StopSendingReceived):
            self.say("stopped", hex(event.error_code))
        elif isinstance(event, ConnectionTerminated):
            self.say("closed", hex(event.error_code))
            self.finish()
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                for name, value in http_event.headers:
                    if name in (b":status", b"server-checksum", b"alt-svc"):
                        self.say(name.decode().lstrip(":"), value.decode())
            elif isinstance(http_event, DataReceived):
                self.size += len(http_event.data)
            if getattr(http_event, "stream_ended", False):
                self.say("body", self.size)
                self.finish()

    def ask(self, path, size):
        stream = self._quic.get_next_available_stream_id()
        headers = [
            (b":method", b"POST" if size else b"GET"),
            (b":scheme", b"https"),
            (b":authority", b"localhost"),
            (b":path", path.encode()),
        ]
        self.http.send_headers(stream, headers, end_stream=not size)
        if size:
            self.http.send_data(stream, bytes(size), end_stream=True)
        self.transmit()


async def main():
    port, path, size, connections = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    tickets = []
    for number in range(connections):
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            verify_mode=ssl.CERT_NONE,
            server_name="localhost",
            idle_timeout=2.0,
            session_ticket=tickets[-1] if tickets else None,
        )
        async with connect(
            "127.0.0.1",
            port,
            configuration=configuration,
            create_protocol=Client,
            session_ticket_handler=tickets.append,
            wait_connected=False,
        ) as client:
            client.ask(path, size)
            await asyncio.wait_for(client.over, 20)
            # Tickets and closes may come behind the reply.
            await asyncio.sleep(0.1)


asyncio.run(main())
