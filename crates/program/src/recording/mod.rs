//! Recordings that are replayed: read once to know what they have ([`survey`]), and again as their requests become due
//! ([`Playback`]).

mod playback;
mod requests;
mod survey;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use httperf_import::clients::By;
use httperf_import::gzip::{self, Plain};
use httperf_import::log::Format;
use httperf_import::models::Asking;
use httperf_import::recording::{Form, Options, Requests};
use httperf_import::{Error, Flaw};
use httperf_plan::RecordedForm;

pub(crate) use self::playback::Playback;
pub(crate) use self::requests::Making;
pub(crate) use self::survey::{Surveyed, survey};

/// The size of the reads of large files.
const BUFFER: usize = 256 * 1024;

/// The bytes of a recording, decompressed if they are compressed.
type Input<R> = BufReader<Plain<BufReader<R>>>;

/// Opens a recording.
fn open(path: &Path, form: &RecordedForm) -> Result<Requests<Input<File>>, Error> {
    requests(File::open(path)?, &options(form)?)
}

/// Reads requests from bytes.
fn requests<R: Read>(bytes: R, options: &Options) -> Result<Requests<Input<R>>, Error> {
    let plain = gzip::plain(BufReader::with_capacity(BUFFER, bytes))?;
    Requests::open(BufReader::with_capacity(BUFFER, plain), options)
}

/// The choices about reading a recording of this form.
fn options(form: &RecordedForm) -> Result<Options, Error> {
    let usual = || (By::default(), httperf_import::clients::IDLE);
    let by = |text: &str| text.parse::<By>().map_err(|sentence| Error::Input(Flaw::whole(sentence)));
    let mut asking = Asking::default();
    let (form, (by, idle)) = match form {
        RecordedForm::Trace => (Some(Form::Trace), usual()),
        RecordedForm::Log { format, client_by, idle } => {
            let format = format.as_deref().map(Format::parse).transpose()?;
            (Some(Form::Log(format)), (by(client_by)?, *idle))
        }
        RecordedForm::GoReplay { client_by, idle } => (Some(Form::GoReplay), (by(client_by)?, *idle)),
        // Its first line tells again whose it is.
        RecordedForm::Model { uri, model } => {
            asking = Asking { uri: uri.clone(), model: model.clone() };
            (None, usual())
        }
    };
    Ok(Options { form, by, idle, asking })
}

/// A recording's error, as an error of reading.
fn as_io(error: Error) -> io::Error {
    match error {
        Error::Read(error) | Error::Write(error) => error,
        Error::Input(flaw) => io::Error::new(io::ErrorKind::InvalidData, flaw.to_string()),
    }
}
