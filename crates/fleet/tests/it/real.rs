//! Meetings over real sockets and files.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use httperf_fleet::{Driver, Guest, GuestEvent, Host, HostEvent, MeetingPlace, Nonce, Secret, now};

use crate::world::join;

/// Longer than any step of a test takes.
const PATIENCE: Duration = Duration::from_secs(60);

const RESULT: usize = 3_000_000;

/// A host that makes a run of no length as soon as all are there.
fn host(place: &MeetingPlace, size: u32) -> (Driver<Host>, Receiver<HostEvent>) {
    let mut drawn = 0;
    let draw = move || {
        drawn += 1;
        Nonce([drawn; 32])
    };
    let host = Host::new(join(0, size), Secret::new("secret"), now().clock, PATIENCE, draw);
    let links = place.open().expect("the place can be opened");
    let (sender, events) = channel();
    let driver = Driver::start(host, links, move |host: &mut Host, event| {
        match &event {
            HostEvent::Met => {
                host.begin(|_, _| b"round".to_vec());
                host.ready(now().clock);
            }
            HostEvent::Start { .. } => host.own_part_is_over(now()),
            HostEvent::Ended => host.dismiss(),
            _ => {}
        }
        let _nobody_listens = sender.send(event);
    });
    (driver.expect("a thread can be started"), events)
}

/// A guest that answers at once, with a large result.
fn guest(place: &MeetingPlace, rank: u32, size: u32) -> (Driver<Guest>, Receiver<GuestEvent>) {
    let links = place.come(PATIENCE, &|| true).expect("rank 0 is there");
    let guest = Guest::new(join(rank, size), Secret::new("secret"), Nonce([rank as u8; 32]), now().clock);
    let (sender, events) = channel();
    let driver = Driver::start(guest, links, move |guest: &mut Guest, event| {
        match &event {
            GuestEvent::Round { .. } => guest.ready(),
            GuestEvent::Start { .. } => guest.outcome(vec![b'x'; RESULT]),
            _ => {}
        }
        let _nobody_listens = sender.send(event);
    });
    (driver.expect("a thread can be started"), events)
}

fn check(place: &MeetingPlace) {
    let size = 4;
    let (host, events) = host(place, size);
    let guests: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..size).map(|rank| scope.spawn(move || guest(place, rank, size))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let mut results = Vec::new();
    for event in events {
        if let HostEvent::Outcome { rank, content } = event {
            assert_eq!(content, vec![b'x'; RESULT]);
            results.push(rank);
        }
    }
    results.sort_unstable();
    assert_eq!(results, [1, 2, 3]);
    host.join();
    for (driver, events) in guests {
        assert_eq!(events.iter().last(), Some(GuestEvent::Bye));
        driver.join();
    }
}

fn free_place() -> MeetingPlace {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free");
    port.to_string().parse().expect("it is a place")
}

#[test]
fn ranks_meet_over_tcp() {
    check(&free_place());
}

#[test]
fn ranks_meet_in_a_folder_that_an_earlier_fleet_has_left() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("current"), "meeting-of-yesterday").expect("it can be written to");
    let place = MeetingPlace::Folder(folder.path().to_owned());
    check(&place);
    assert!(!has_meeting(folder.path()), "the meeting cleans up");
}

fn has_meeting(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// A scanner of ports, a browser, and one that sends without end.
#[test]
fn strangers_do_not_disturb_a_meeting() {
    let place = free_place();
    let MeetingPlace::Address { host: address, port } = &place else { panic!("it is an address") };
    let size = 2;
    let (host, events) = host(&place, size);
    let connect = || TcpStream::connect((address.as_str(), *port)).expect("rank 0 listens");
    drop(connect());
    let mut browser = connect();
    browser.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").expect("it is taken");
    let mut answer = Vec::new();
    // Closed or reset: nothing is answered.
    let _reset = browser.read_to_end(&mut answer);
    assert_eq!(answer, b"");
    let mut flood = connect();
    let _closed = flood.write_all(&[0; 1_000_000]);
    let silent: Vec<TcpStream> = (0..100).map(|_| connect()).collect();
    let (guest, _) = guest(&place, 1, size);
    let refused = |event: &HostEvent| matches!(event, HostEvent::Stranger { .. });
    let events: Vec<HostEvent> = events.into_iter().collect();
    assert!(events.iter().filter(|event| refused(event)).count() >= 2, "{events:?}");
    assert!(events.contains(&HostEvent::Ended), "{events:?}");
    host.join();
    guest.join();
    drop(silent);
}
