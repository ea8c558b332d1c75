//! Scripts of the kind that people wrote around the classic program, run unchanged.
//!
//! They find `httperf` on the search path, abbreviate its options as was the custom, and pick what they want out of
//! its report with patterns, columns and cuts. What they find must be right. The scripts are ours, but
//! every habit in them is one found in the field. `HTTPERF_UNDER_TEST=FILE` runs that binary in place of the one
//! just built.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use httperf_testkit::server::{Behaviour, Server};
use httperf_testkit::skip;

use crate::support::program::under_test;

/// Sweeps over rates and writes a table with a line for each, as benchmark front ends do.
const PERL_SWEEP: &str = r#"
use strict;
my ($host, $port) = @ARGV;
my @columns = qw(dem_req_rate req_rate con_rate min_rep_rate avg_rep_rate max_rep_rate stddev_rep_rate resp_time net_io errors);
print join("\t", @columns), "\n";
for (my $rate = 40; $rate <= 80; $rate += 40) {
    my %found;
    open(my $pipe, "httperf --timeout=5 --client=0/1 --server=$host --port=$port --uri=/x --ra $rate --num-conn 20 --num-call 2 2>&1 |") or die;
    while (<$pipe>) {
        if (/^Total: .*replies (\d+)/)                  { $found{replies} = $1; }
        if (/^Connection rate: (\d+\.\d)/)              { $found{con_rate} = $1; }
        if (/^Request rate: (\d+\.\d)/)                 { $found{req_rate} = $1; }
        if (/^Reply rate .*min (\d+\.\d) avg (\d+\.\d) max (\d+\.\d) stddev (\d+\.\d)/) {
            @found{qw(min_rep_rate avg_rep_rate max_rep_rate stddev_rep_rate)} = ($1, $2, $3, $4);
        }
        if (/^Reply time .* response (\d+\.\d)/)        { $found{resp_time} = $1; }
        if (/^Net I\/O: (\d+\.\d)/)                     { $found{net_io} = $1; }
        if (/^Errors: total (\d+)/)                     { $found{errors} = $1; }
    }
    close($pipe);
    die "httperf failed" if $? != 0;
    $found{errors} = $found{replies} == 0 ? 100 : 100 * $found{errors} / $found{replies};
    $found{dem_req_rate} = 2 * $rate;
    print join("\t", map { defined $found{$_} ? $found{$_} : "?" } @columns), "\n";
}
"#;

#[test]
fn a_perl_sweep_builds_its_table() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let Some(table) = run("perl", &["-e", PERL_SWEEP, "127.0.0.1", &server.port().to_string()]) else {
        return;
    };
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), 3, "{table}");
    assert_eq!(lines[0][0], "dem_req_rate");
    for (line, rate) in lines[1..].iter().zip([40.0, 80.0]) {
        assert_eq!(line.len(), 10, "{table}");
        let number = |index: usize| -> f64 { line[index].parse().unwrap() };
        assert_eq!(number(0), 2.0 * rate, "{table}");
        // 20 connections take 19 intervals, so the rates found are a little above those asked for, but where the
        // machine was busy at the end.
        let most = rate * 20.0 / 19.0 * 1.1;
        assert!((most / 5.0..most).contains(&number(2)), "{table}");
        assert_near(number(1), 2.0 * number(2), 0.1);
        assert_eq!(line[3..7], ["0.0"; 4], "{table}");
        // A request of 63 bytes and a reply of 43 each time.
        assert_near(number(8), number(1) * 106.0 / 1024.0, 0.1);
        assert_eq!(line[9], "0", "{table}");
    }
    assert_eq!(server.finish().len(), 40);
}

/// Columns of the report, one `name=value` for each.
const SHELL_COLUMNS: &str = r#"
out=$(httperf --hog --server "$1" --port "$2" --num-con 4 --num-cal 3 --timeo 5 2>/dev/null) || exit 1
total()  { echo "$out" | grep '^Total:' | awk "{print \$$1}"; }
echo "connections=$(total 3)"
echo "requests=$(total 5)"
echo "replies=$(total 7)"
echo "replies_again=$(echo "$out" | sed -n 's/^Total: .* replies \([0-9]*\) .*/\1/p')"
echo "duration_unit=$(total 10)"
echo "per_connection=$(echo "$out" | grep 'Connection length' | cut -d: -f2 | tr -d ' ')"
echo "request_size=$(echo "$out" | awk '/^Request size/ {print $4}')"
echo "reply_rate_words=$(echo "$out" | grep 'Reply rate' | awk '{print $4, $6, $8, $10, $13}')"
echo "content=$(echo "$out" | awk '/^Reply size/ {print $7}')"
echo "total_size=$(echo "$out" | grep '^Reply size' | sed 's/.*total //; s/)//')"
echo "ok=$(echo "$out" | grep '^Reply status' | sed 's/.*2xx=//' | cut -d' ' -f1)"
echo "not_ok=$(echo "$out" | awk -F'[= ]' '/^Reply status/ {print $4 + $8 + $10 + $12}')"
echo "errors=$(echo "$out" | sed -n 's/^Errors: total \([0-9]*\) .*/\1/p')"
echo "timeouts=$(echo "$out" | awk '/^Errors: total/ {print $5}')"
echo "refused=$(echo "$out" | awk '/^Errors: total/ {print $9}')"
echo "no_descriptors=$(echo "$out" | awk '/^Errors: fd-unavail/ {print $3}')"
echo "blank_lines=$(echo "$out" | grep -c '^$')"
echo "lines=$(echo "$out" | wc -l | tr -d ' ')"
echo "command=$(echo "$out" | head -n 1 | cut -d' ' -f1-4)"
"#;

#[test]
fn shell_awk_and_sed_find_their_columns() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let port = server.port().to_string();
    let Some(found) = run("sh", &["-c", SHELL_COLUMNS, "script", "127.0.0.1", &port]) else { return };
    let expected = "connections=4\nrequests=12\nreplies=12\nreplies_again=12\nduration_unit=s\nper_connection=3.000\n\
         request_size=62.0\nreply_rate_words=min avg max stddev samples)\ncontent=5.0\ntotal_size=43.0\nok=12\n\
         not_ok=0\nerrors=0\ntimeouts=0\nrefused=0\nno_descriptors=0\nblank_lines=6\nlines=23\n\
         command=httperf --hog --timeout=5 --client=0/1\n";
    assert_eq!(found, expected);
}

/// The lifetimes and the times of replies, by position after splitting at blanks.
const PERL_COLUMNS: &str = r#"
my @report = `httperf --server $ARGV[0] --port $ARGV[1] --num-conn 5 --num-call 2 --think-timeo 3 2>/dev/null`;
my ($times) = grep { /^Connection time \[ms\]: min/ } @report;
my @columns = split ' ', $times;
print join(" ", @columns[3, 5, 7, 9, 11]), "\n";
print "@columns[4, 6, 8, 10, 12]\n";
my ($connect) = map { /^Connection time \[ms\]: connect ([\d.]+)$/ ? $1 : () } @report;
my ($response, $transfer) = "@report" =~ /Reply time \[ms\]: response ([0-9.]+) transfer ([0-9.]+)/;
print "$connect $response $transfer\n";
my ($user, $system) = "@report" =~ /^ ?CPU time \[s\]: user (\S+) system (\S+) \(user \S+% system \S+% total \S+%\)$/m;
print defined $user && defined $system ? "cpu\n" : "no cpu\n";
"#;

#[test]
fn perl_finds_times_by_position() {
    let server = Server::start(Behaviour::delayed(Duration::from_millis(40))).unwrap();
    let Some(found) = run("perl", &["-e", PERL_COLUMNS, "127.0.0.1", &server.port().to_string()]) else {
        return;
    };
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 4, "{found}");
    assert_eq!(lines[0], "min avg max median stddev");
    let times: Vec<f64> = lines[1].split(' ').map(|word| word.parse().unwrap()).collect();
    let [min, avg, max, median, stddev] = times[..] else { panic!("{found}") };
    // Two replies of 40 ms each make a lifetime.
    assert!((79.0..200.0).contains(&min) && min <= avg && avg <= max, "{found}");
    assert!(min.floor() + 0.5 <= median && median <= max + 1.0 && median.fract() == 0.5, "{found}");
    assert!(stddev <= max - min + 0.1, "{found}");
    let times: Vec<f64> = lines[2].split(' ').map(|word| word.parse().unwrap()).collect();
    assert!(times[0] < 40.0 && (39.0..100.0).contains(&times[1]) && times[2] < 40.0, "{found}");
    assert_eq!(lines[3], "cpu");
}

/// Reads a whole report into a dictionary and prints what it finds of a session workload.
const PYTHON_SESSIONS: &str = r#"
import re, subprocess, sys

command = ["httperf", "--server", sys.argv[1], "--port", sys.argv[2], "--wsess=5,4,0.02", "--burst-len", "2",
           "--ra=50", "--session-cookie", "--timeo", "5", "--max-conn", "2"]
process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
patterns = {
    "sessions": r"^Session rate \[sess/s\]: min (?:\d+\.\d\d) avg (?:\d+\.\d\d) max (?:\d+\.\d\d) stddev (?:\d+\.\d\d) \((\d+/\d+)\)$",
    "connections": r"^Session: avg (\d+\.\d+) connections/session$",
    "lifetime": r"^Session lifetime \[s\]: (\d+\.\d)$",
    "failtime": r"^Session failtime \[s\]: (\d+\.\d)$",
    "histogram": r"^Session length histogram: ([\d ]+)$",
    "replies": r"^Total: connections \d+ requests \d+ replies (\d+) test-duration \d+\.\d{3} s$",
    "concurrent": r"<=(\d+) concurrent connections\)$",
    "errors": r"^Errors: total (\d+) client-timo \d+ socket-timo \d+ connrefused \d+ connreset \d+$",
    "more errors": r"^Errors: fd-unavail (\d+) addrunavail \d+ ftab-full \d+ other \d+$",
}
print("status:", process.returncode)
for name, pattern in patterns.items():
    match = re.search(pattern, process.stdout, re.MULTILINE)
    print(name + ":", match.group(1) if match else "not found")
print("last line:", process.stdout.splitlines()[-1].split(":")[0])
"#;

#[test]
fn python_reads_the_session_section() {
    let server = Server::start(Behaviour::cookies(100)).unwrap();
    let Some(found) = run("python3", &["-c", PYTHON_SESSIONS, "127.0.0.1", &server.port().to_string()])
    else {
        return;
    };
    let mut lines: Vec<&str> = found.lines().collect();
    let concurrent = lines.remove(7).strip_prefix("concurrent: ").map(str::parse::<u32>);
    assert!(matches!(concurrent, Some(Ok(1..=5))), "{found}");
    // A session takes a moment, on a busy machine more than one.
    assert!(lines.remove(3).starts_with("lifetime: "), "{found}");
    assert_eq!(
        lines,
        [
            "status: 0",
            "sessions: 5/5",
            "connections: 1.00",
            "failtime: 0.0",
            "histogram: 0 0 0 0 5",
            "replies: 20",
            "errors: 0",
            "more errors: 0",
            "last line: Session length histogram",
        ]
    );
}

/// Finds the highest rate without errors, as capacity searches do; here the server never answers.
const SHELL_SEARCH: &str = r#"
rate=20
good=0
while [ $rate -le 40 ]; do
    httperf --hog --client=0/1 --server="$1" --port="$2" --uri=/ --rate=$rate --send-buffer=4096 \
        --recv-buffer=16384 --num-conns=4 --num-calls=1 --timeout=0.2 > report.txt 2> /dev/null
    status=$?
    errors=`grep "Errors: total" report.txt | awk '{ print $3 }'`
    timeouts=`awk '/client-timo/ { print $5 }' report.txt`
    replies=`perl -ne 'print $1 if /replies (\d+)/' report.txt`
    echo "$rate $status $errors $timeouts $replies"
    if [ "$errors" -eq 0 ]; then good=$rate; fi
    rate=`expr $rate + 20`
done
echo "best $good"
"#;

#[test]
fn a_search_for_the_capacity_sees_errors_with_a_status_of_0() {
    let server = Server::start(Behaviour::stall()).unwrap();
    let port = server.port().to_string();
    let Some(found) = run("sh", &["-c", SHELL_SEARCH, "script", "127.0.0.1", &port]) else { return };
    assert_eq!(found, "20 0 4 4 0\n40 0 4 4 0\nbest 0\n");
}

/// Takes what `--print-reply` and `-v` print apart from the report.
const SHELL_PRINT: &str = r#"
httperf --server "$1" --port "$2" --num-call 2 --print-rep=head --wset=100,1 -v 2>&1 > all.txt
grep -c '^RH[01]:' all.txt
grep '^RS' all.txt | awk '{ sum += $5 } END { print sum }'
sed -n "s/^httperf: accessing URI \`\(.*\)'$/\1/p" all.txt
tr -d '\r' < all.txt | sed -n 's/^RH0:\(HTTP.*\)/\1/p'
sed '1,/^Total:/d' all.txt | grep -c .
"#;

#[test]
fn shell_reads_printed_replies() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let port = server.port().to_string();
    let Some(found) = run("sh", &["-c", SHELL_PRINT, "script", "127.0.0.1", &port]) else { return };
    let found: String = found.split_inclusive('\n').filter(|line| !line.contains("FD_SETSIZE")).collect();
    assert_eq!(found, "6\n10\n/0/1.html\n/0/2.html\nHTTP/1.1 200 OK\n14\n");
}

/// Asks whether the program is there, and stops at a mistake in its options.
const SHELL_PROBE: &str = r#"
httperf --help | head -n 1 | cut -d' ' -f1-2
httperf --version --help | head -n 1 | grep -c 'httperf: httperf-[0-9]'
httperf --server 127.0.0.1 --port "$1" --no-such-option > /dev/null 2>&1 || echo "refused with $?"
httperf --server 127.0.0.1 --port "$1" --session-cookies > /dev/null 2>&1 || echo "refused with $?"
"#;

#[test]
fn shell_asks_for_the_version_and_minds_the_status() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let port = server.port().to_string();
    let Some(found) = run("sh", &["-c", SHELL_PROBE, "script", &port]) else { return };
    assert_eq!(found, "Usage: httperf\n1\nrefused with 1\nrefused with 255\n");
    assert!(server.finish().is_empty());
}

/// Runs a script, in an empty folder, with `httperf` on its search path; `None` if its interpreter is missing.
#[track_caller]
fn run(interpreter: &str, arguments: &[&str]) -> Option<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |folder: PathBuf| folder.join(interpreter).is_file();
    if !env::split_paths(&path).any(is_there) {
        skip::lacking(interpreter);
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (bin, work) = (folder.path().join("bin"), folder.path().join("work"));
    std::fs::create_dir(&bin).expect("the folder is new");
    std::fs::create_dir(&work).expect("the folder is new");
    symlink(under_test(), bin.join("httperf")).expect("the folder is empty");
    let search: OsString = env::join_paths([bin].into_iter().chain(env::split_paths(&path)))
        .expect("the folder has no colon in its name");
    // The limit is for the script as a whole; what it starts has limits of its own in its options.
    let output = Command::new("timeout")
        .arg("60")
        .arg(interpreter)
        .args(arguments)
        .env("PATH", search)
        .env("LC_ALL", "C")
        .env_remove("POSIXLY_CORRECT")
        .current_dir(&work)
        .stdin(Stdio::null())
        .output()
        .expect("`timeout` is part of the system");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}{stderr}", output.status);
    Some(stdout.into_owned())
}

/// Within a share of what is expected.
#[track_caller]
fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= share * expected, "{found} is not close to {expected}");
}
