//! A server that answers before it has the whole request and closes the connection: what it said counts.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, under_test, under_test_is_reference};
use crate::support::report::Report;
use crate::support::words;
use httperf_testkit::tcp::listen;

/// How the server ends a connection on which it has answered.
#[derive(Clone, Copy, Debug)]
enum Ending {
    /// With a FIN, and reads nothing more before it closes.
    Fin,
    /// With what is left unread, so that the system sends a RST.
    Rst,
}

const CONNECTIONS: usize = 20;

/// Answers the first bytes of so many requests, and ends their connections.
fn serve(listener: &TcpListener, ending: Ending) {
    for _ in 0..CONNECTIONS {
        let Ok((stream, _)) = listener.accept() else { return };
        thread::spawn(move || refuse(stream, ending));
    }
}

fn refuse(mut stream: TcpStream, ending: Ending) {
    let mut some = [0; 1000];
    if stream.read(&mut some).is_err() {
        return;
    }
    let reply = "HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlarge";
    let said = stream.write_all(reply.as_bytes());
    if let Ending::Fin = ending {
        // The client may be gone already.
        let _ended = said.and_then(|()| stream.shutdown(Shutdown::Write));
        // Dropping the stream resets the connection, as bytes of the request are unread: the end is to arrive before that.
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_reply_counts_whatever_becomes_of_the_rest_of_the_request() {
    if under_test_is_reference() {
        return;
    }
    for ending in [Ending::Fin, Ending::Rst] {
        let (listener, port) = listen();
        let server = thread::spawn(move || serve(&listener, ending));
        let arguments = format!(
            "--server 127.0.0.1 --port {port} --method POST --num-conns {CONNECTIONS} --rate 200 --timeout 20 \
             --body-file body"
        );
        let mut invocation = Invocation::new(&under_test(), words(&arguments));
        invocation.limit = Duration::from_secs(60);
        invocation.files.push(("body".to_owned(), vec![b'x'; 4_000_000]));
        let Outcome { stdout, stderr, exit, .. } = invocation.run().expect("the program can be started");
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        assert_eq!(exit, Exit::Code(0), "{ending:?}\n{stdout}{stderr}");
        let report = Report::parse(&stdout).expect("there is a report");
        assert_eq!(report.text("replies"), CONNECTIONS.to_string(), "{ending:?}\n{stdout}{stderr}");
        assert_eq!(report.text("4xx"), CONNECTIONS.to_string(), "{ending:?}\n{stdout}");
        assert_eq!(report.text("errors"), "0", "{ending:?}\n{stdout}{stderr}");
        server.join().expect("it does not panic");
    }
}
