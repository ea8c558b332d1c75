"""Answers HTTP/3 with aioquic, and logs every handshake and every request to stdout.

Arguments: the port, a certificate and its key in PEM, the window of streams in bytes, and any of the words `retry` and
`tickets` (to resume with, and to send early data). `/size/N` has N bytes of content, whatever the method."""

import asyncio
import signal
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, ProtocolNegotiated


def log(*words):
    print(*words, flush=True)


class Server(QuicConnectionProtocol):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.http = None
        self.requests = {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        elif isinstance(event, HandshakeCompleted):
            log("handshake", f"resumed={event.session_resumed}", f"early={event.early_data_accepted}")
        if self.http is None:
            return
        for http_event in self.http.handle_event(event):
            self.handle(http_event)

    def handle(self, event):
        if isinstance(event, HeadersReceived):
            headers = dict(event.headers)
            self.requests[event.stream_id] = [headers[b":method"].decode(), headers[b":path"].decode(), 0]
        elif isinstance(event, DataReceived):
            self.requests[event.stream_id][2] += len(event.data)
        if getattr(event, "stream_ended", False):
            method, path, size = self.requests.pop(event.stream_id)
            log("request", method, path, size)
            self.answer(event.stream_id, path)

    def answer(self, stream, path):
        words = path.split("/")
        found = len(words) == 3 and words[1] == "size"
        body = bytes(int(words[2])) if found else b""
        headers = [(b":status", b"200" if found else b"404"), (b"content-length", str(len(body)).encode())]
        self.http.send_headers(stream, headers, end_stream=not body)
        if body:
            self.http.send_data(stream, body, end_stream=True)
        self.transmit()


class Tickets(dict):
    def add(self, ticket):
        self[ticket.ticket] = ticket

    def take(self, label):
        return self.pop(label, None)


async def main():
    port, certificate, key, window, *words = sys.argv[1:]
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=["h3"],
        max_stream_data=int(window),
        max_data=int(window) * 4,
        max_datagram_size=1350,
    )
    configuration.load_cert_chain(certificate, key)
    tickets = Tickets()
    await serve(
        "127.0.0.1",
        int(port),
        configuration=configuration,
        create_protocol=Server,
        retry="retry" in words,
        session_ticket_fetcher=tickets.take if "tickets" in words else None,
        session_ticket_handler=tickets.add if "tickets" in words else None,
    )
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    await over.wait()


asyncio.run(main())
