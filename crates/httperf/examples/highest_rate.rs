//! Doubles the rate until an objective is missed or the generator cannot keep up, and prints a row for each rate. The server
//! takes 2 ms for a call and serves two connections at a time: about 1000 calls per second.
//!
//!     cargo run --release --example highest_rate
//!
//! `httperf capacity` searches more carefully.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use httperf::{Error, Load, Verdict, ms};

fn main() -> Result<(), Error> {
    let address = start_server();
    println!("{:>8} {:>10} {:>10} {:>9}  objective", "calls/s", "p50", "p90", "verdict");
    for rate in [100.0, 200.0, 400.0, 800.0, 1600.0] {
        let load = Load::get(format!("http://{address}/")).rate(rate).connections(2);
        let report = load.objectives("p90<50ms, errors<1%").for_duration(ms(500)).run()?;
        let (p50, p90) = (report.latency().p50(), report.latency().p90());
        let kept = if report.met_objectives() { "met" } else { "missed" };
        println!("{rate:>8} {:>10} {:>10} {:>9}  {kept}", text(p50), text(p90), report.verdict());
        if !report.met_objectives() || report.verdict() == Verdict::Invalid {
            break;
        }
    }
    Ok(())
}

fn text(latency: Duration) -> String {
    match latency {
        Duration::MAX => "too long".to_owned(),
        latency => format!("{:.1} ms", latency.as_secs_f64() * 1e3),
    }
}

fn start_server() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || serve(&connection));
        }
    });
    address
}

/// Answers each request of a connection, after 2 ms.
fn serve(mut connection: &TcpStream) {
    for line in BufReader::new(connection).lines().map_while(Result::ok) {
        if line.is_empty() {
            thread::sleep(ms(2));
            if connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err() {
                return;
            }
        }
    }
}
