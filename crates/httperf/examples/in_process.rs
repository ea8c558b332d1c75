//! A load test of a server that runs in the same process, as in a test of one's own: latency at 300 calls per second.
//!
//!     cargo run --release --example in_process

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use httperf::{Load, Verdict, ms};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || serve(&connection));
        }
    });

    let report = Load::get(url).rate(300.0).expect_status("200").warm_up(ms(200)).for_secs(1).run()?;

    println!("{report}");
    if report.verdict() == Verdict::Invalid {
        // The machine was too busy to measure anything: that says nothing about the server.
        println!("not judged: {:?}", report.reasons());
        return Ok(());
    }
    assert_eq!(report.failed(), 0);
    assert!(report.latency().p99() < ms(500), "too slow: {:?}", report.latency().p99());
    Ok(())
}

/// Answers each request of a connection.
fn serve(mut connection: &TcpStream) {
    for line in BufReader::new(connection).lines().map_while(Result::ok) {
        // The end of a request without a body.
        if line.is_empty()
            && connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err()
        {
            return;
        }
    }
}
