//! The requests that visits would send, without sending any.

use std::io::Write;
use std::time::SystemTime;

use httperf_load::scenario::{Action, Program, RequestBuffers, RowsTaken, Scratch, Visit};
use httperf_plan::{Plan, Workload};

/// The number of steps of a visit that are shown: a loop need not end if replies do not.
const STEPS_MAX: usize = 100;

/// Returns the requests of the first `count` visits as text.
pub(super) fn visits(plan: &Plan, count: u64) -> Vec<u8> {
    let Workload::Scenarios(scenarios) = &plan.workload else { return Vec::new() };
    let program = Program::new(plan, scenarios).expect("scenarios are compiled once before a run starts");
    let mut rows = RowsTaken::new(&program);
    let mut out = Vec::new();
    for index in 0..count.min(scenarios.count) {
        if rows.used_up(&program, index).is_some() {
            put(&mut out, &format!("no row is left for visit {index}\n"));
            break;
        }
        let mut visit = Visit::new(&program, index, &mut rows);
        visit.name_unset(&program);
        put(&mut out, &format!("visit {index}: {}\n", scenarios.scenarios[visit.scenario() as usize].name));
        show(&mut visit, plan, &program, &mut out);
    }
    out
}

fn show(visit: &mut Visit, plan: &Plan, program: &Program<'_>, out: &mut Vec<u8>) {
    let Workload::Scenarios(scenarios) = &plan.workload else { return };
    let (mut scratch, mut buffers) = (Scratch::default(), RequestBuffers::default());
    for _ in 0..STEPS_MAX {
        match visit.advance(program, &mut SystemTime::now, &mut scratch) {
            Action::Think(pause) => put(out, &format!("\n  (pause of {:.3} s)\n", pause.as_secs_f64())),
            Action::Finished => return put(out, "\n"),
            Action::Failed => return put(out, "\n  (the visit cannot go on)\n\n"),
            Action::Call(place) => {
                let source = &scenarios.requests[place as usize];
                let target = program.target(visit, place);
                let name = match source.name == source.origin {
                    true => source.name.clone(),
                    false => format!("{} ({})", source.name, source.origin),
                };
                put(out, &format!("\n  # {name}\n"));
                let host = plan.targets[target].host.clone();
                match program.fill(visit, place, &mut SystemTime::now, &mut buffers) {
                    Err(_) => put(out, "  (a variable has no value)\n"),
                    Ok(material) => {
                        let mut message = [material.method, b" ", material.uri, b"\n"].concat();
                        if !material.replaces.host {
                            message.extend([b"Host: ", host.as_bytes(), b"\n"].concat());
                        }
                        message.extend(material.headers.iter().filter(|byte| **byte != b'\r'));
                        if let Some(body) = material.body.bytes() {
                            message.push(b'\n');
                            message.extend_from_slice(body);
                        }
                        for line in String::from_utf8_lossy(&message).trim_end().lines() {
                            put(out, &format!("  {}\n", line.escape_debug()));
                        }
                    }
                }
            }
        }
    }
    put(out, "  …\n\n");
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.write_all(text.as_bytes()).expect("writing to memory does not fail");
}
