//! Tests of the scripted server from a client's side.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::*;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// Sends `requests` on a connection. Returns the bytes received until the server has been silent for a while
/// or has closed, and the result of the last read.
fn talk(server: &Server, requests: &[u8]) -> (Vec<u8>, io::Result<usize>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    stream.write_all(requests).unwrap();
    let mut received = Vec::new();
    let ended = stream.read_to_end(&mut received);
    (received, ended)
}

#[test]
fn every_request_is_answered_and_recorded() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let (received, _) = talk(&server, &REQUEST.repeat(2));
    assert_eq!(received, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".repeat(2));
    let records = server.finish();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].bytes(), REQUEST.repeat(2));
    assert_eq!(records[0].requests.len(), 2);
    assert_eq!(records[0].requests[1].line(), "GET / HTTP/1.1");
    assert_eq!(records[0].ended.unwrap().how, End::ClientFin);
}

#[test]
fn a_head_request_gets_no_body() {
    let server = Server::start(Behaviour::ok_sized(300)).unwrap();
    let (received, _) = talk(&server, b"HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!(received, b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n");
}

#[test]
fn replies_are_cycled_per_server_or_per_connection() {
    let replies = || [Reply::status(503), Reply::status(204)];
    for (order, expected) in [(Order::PerServer, ["503", "204"]), (Order::PerConnection, ["503", "503"])] {
        let server = Server::start(Behaviour::in_turn(order, replies())).unwrap();
        for status in expected {
            let (received, _) = talk(&server, REQUEST);
            assert_eq!(received[9..12], *status.as_bytes(), "{order:?}");
        }
    }
}

#[test]
fn a_script_closes_with_fin_or_with_rst() {
    let server = Server::start(Behaviour::close()).unwrap();
    let (received, ended) = talk(&server, REQUEST);
    assert!(received.ends_with(b"hello"));
    assert_eq!(ended.unwrap(), received.len());

    let server = Server::start(Behaviour::reset()).unwrap();
    let (received, ended) = talk(&server, REQUEST);
    assert!(received.is_empty());
    assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(server.finish()[0].ended.unwrap().how, End::ServerRst);
}

#[test]
fn resets_and_closes_by_clients_are_distinguished() {
    let server = Server::start(Behaviour::stall()).unwrap();
    let stream = TcpStream::connect(server.address()).unwrap();
    net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
    assert_eq!(server.finish()[0].ended.unwrap().how, End::ClientRst);
}

#[test]
fn arrivals_are_timed_while_a_reply_is_held_back() {
    let server = Server::start(Behaviour::delayed(Duration::from_millis(200))).unwrap();
    let began = Instant::now();
    let (received, _) = talk(&server, &REQUEST.repeat(2));
    assert_eq!(received.len(), 2 * 43);
    assert!(began.elapsed() >= Duration::from_millis(400), "replies follow one another");
    let records = server.finish();
    let arrived = records[0].requests[1].at - records[0].accepted;
    assert!(arrived < Duration::from_millis(150), "noted after {arrived:?}");
}

#[test]
fn a_greeting_comes_before_any_request() {
    let script = Script { greeting: Reply::bytes(b"hello"), ..Script::default() };
    let server = Server::start(Behaviour::Serve(script)).unwrap();
    assert_eq!(talk(&server, b"").0, b"hello");
}

#[test]
fn a_full_backlog_leaves_a_connect_waiting() {
    let server = Server::start(Behaviour::FullBacklog).unwrap();
    let error = TcpStream::connect_timeout(&server.address(), Duration::from_millis(200)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

#[test]
fn a_refusing_server_keeps_its_port_and_refuses() {
    let server = Server::start(Behaviour::Refuse).unwrap();
    let error = TcpStream::connect(server.address()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    assert!(TcpListener::bind(server.address()).is_err());
}

#[test]
fn dropping_the_server_ends_its_pauses_and_connections() {
    let server = Server::start(Behaviour::delayed(Duration::from_secs(30))).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(REQUEST).unwrap();
    while server.connections().first().is_none_or(|record| record.requests.is_empty()) {
        thread::sleep(Duration::from_millis(1));
    }
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(5));
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}
