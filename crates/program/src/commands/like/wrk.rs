//! wrk, and wrk2, which adds a rate to it.

use httperf_import::words::{Expected, Syntax, ToolOption, duration, flag, read, scaled, value};

use super::Tool;
use super::translation::{Load, Pace};

/// wrk, or wrk2 under the name that its program has when it is built.
pub(super) const WRK: Tool = Tool { name: "wrk", translate };

pub(super) const WRK2: Tool = Tool {
    name: "wrk2",
    translate: |words| {
        let load = translate(words)?;
        match load.pace {
            Pace::Requests { .. } => Ok(load),
            _ => Err("-R: expected a rate, which wrk2 needs, got none".to_owned()),
        }
    },
};

const OPTIONS: &[ToolOption<Load>] = &[
    value(&["-c", "--connections"], |load, text| {
        load.connections = scaled(text)?;
        Ok(())
    }),
    value(&["-t", "--threads"], |load, text| {
        load.threads = Some(scaled(text)?);
        Ok(())
    }),
    value(&["-d", "--duration"], |load, text| {
        load.duration = Some(positive_duration(text)?);
        Ok(())
    }),
    value(&["-H", "--header"], Load::header),
    value(&["--timeout"], |load, text| {
        load.timeout = Some(positive_duration(text)?);
        load.notes
            .push("--timeout: wrk counts a late reply and waits on; here the request is given up".to_owned());
        Ok(())
    }),
    flag(&["-L", "--latency"], |load, _| {
        load.add("--report", "answer");
        Ok(())
    }),
    value(&["-s", "--script"], |_, _| {
        Err(Expected(
            "no script, as Lua cannot be translated (--method, --header, --body and --targets say what requests are)",
        ))
    }),
    ToolOption::idle_flag(&["-v", "--version"]),
    value(&["-R", "--rate"], |load, text| {
        load.tool = "wrk2";
        load.pace = Pace::Requests { rate: scaled(text)? as f64, per_connection: true };
        Ok(())
    }),
    ToolOption::idle_flag(&["-U", "--u_latency"]),
    ToolOption::idle_flag(&["-B", "--batch_latency"]),
];

fn positive_duration(text: &str) -> Result<f64, Expected> {
    let seconds = duration(text)?;
    if seconds > 0.0 { Ok(seconds) } else { Err(Expected("a time above 0")) }
}

fn translate(words: &[Vec<u8>]) -> Result<Load, String> {
    let mut load = Load::new("wrk");
    (load.connections, load.threads, load.duration) = (10, Some(2), Some(10.0));
    load.names_itself = false;
    let read = read(OPTIONS, Syntax::Getopt, words, &mut load)?;
    load.take_url(&read.words, None)?;
    load.notes.splice(..0, read.lost);
    let threads = load.threads.unwrap_or(1);
    if load.connections < threads {
        return Err(format!(
            "-c: expected a connection for each of the {threads} threads at least, got `{}`",
            load.connections
        ));
    }
    // Each thread has the same number.
    load.connections -= load.connections % threads;
    Ok(load)
}
