//! The files of `--qlog`: events of the first connections, each in a file of its own.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use httperf_proto::quic::Log;

/// The number of connections that have a file: those with the lowest numbers.
const CONNECTIONS_MAX: u64 = 100;

/// The size of a file in bytes. What happens later on its connection is left out.
const SIZE_MAX: u64 = 16 << 20;

/// The number of bytes that are gathered before they are written.
const BUFFER_SIZE: usize = 64 << 10;

/// The first byte of each record (RFC 7464, section 2.2). No record has it inside.
const RECORD_SEPARATOR: u8 = 0x1e;

/// The files of a worker.
#[derive(Debug)]
pub(super) struct Qlogs {
    folder: PathBuf,
    files: Vec<Shared>,
    /// Files that could not be made.
    failed: u64,
}

impl Qlogs {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), files: Vec::new(), failed: 0 }
    }

    /// Returns the log of a connection, if it is to have one. `at`: the time since the start of the run.
    pub(super) fn begin(&mut self, connection: u64, at: Duration) -> Option<Log> {
        if connection >= CONNECTIONS_MAX {
            return None;
        }
        let Ok(file) = File::create(self.folder.join(format!("connection-{connection}.sqlog"))) else {
            self.failed += 1;
            return None;
        };
        let shared = Shared(Arc::new(Mutex::new(Records::new(file, SIZE_MAX))));
        self.files.push(shared.clone());
        Some(Log {
            title: format!("httperf, connection {connection}"),
            description: format!("began {:.9} s into the run", at.as_secs_f64()),
            writer: Box::new(Writer(shared)),
        })
    }

    /// Completes all files. Returns how many lack something.
    pub(super) fn complete(&mut self) -> u64 {
        let is_cut = |file: &Shared| {
            let mut records = file.lock();
            records.close();
            records.is_cut
        };
        self.failed + self.files.iter().filter(|file| is_cut(file)).count() as u64
    }
}

/// A file that its connection and the worker share.
#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<Records<File>>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Records<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connection's end of a file.
struct Writer(Shared);

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.lock().close();
    }
}

/// A file that can be cut.
trait Cut: Write {
    /// Cuts it to this size.
    fn cut(&mut self, size: u64);
}

impl Cut for File {
    fn cut(&mut self, size: u64) {
        // The last record is incomplete if even that fails, which readers of JSON-SEQ bear (RFC 7464, section 2.3).
        self.set_len(size).unwrap_or_default();
    }
}

/// Whole records on their way to a file.
#[derive(Debug)]
struct Records<F> {
    /// `None` once nothing more is written.
    file: Option<F>,
    size_max: u64,
    /// Bytes of whole records, and then those of the next.
    bytes: Vec<u8>,
    /// Bytes of the whole records.
    whole: usize,
    /// Bytes in the file.
    written: u64,
    /// Something is missing.
    is_cut: bool,
}

impl<F: Cut> Records<F> {
    fn new(file: F, size_max: u64) -> Self {
        Self { file: Some(file), size_max, bytes: Vec::new(), whole: 0, written: 0, is_cut: false }
    }

    /// Adds a piece of a record.
    fn add(&mut self, piece: &[u8]) {
        if piece.first() == Some(&RECORD_SEPARATOR) {
            self.complete();
        }
        if self.file.is_some() {
            self.bytes.extend_from_slice(piece);
        }
    }

    /// The record is whole.
    fn complete(&mut self) {
        if self.written + self.bytes.len() as u64 > self.size_max {
            self.is_cut = true;
            self.write();
            self.file = None;
        }
        self.whole = self.bytes.len();
        if self.whole >= BUFFER_SIZE {
            self.write();
        }
    }

    /// Writes the whole records.
    fn write(&mut self) {
        let whole = mem::take(&mut self.whole);
        let Some(file) = &mut self.file else { return };
        match file.write_all(&self.bytes[..whole]) {
            Ok(()) => {
                self.written += whole as u64;
                self.bytes.drain(..whole);
            }
            Err(_) => {
                file.cut(self.written);
                self.is_cut = true;
                self.file = None;
            }
        }
        if self.file.is_none() || self.is_cut {
            self.bytes.clear();
        }
    }

    /// Nothing more comes.
    fn close(&mut self) {
        if self.file.is_some() {
            self.complete();
            self.write();
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file on a disk with so much room.
    struct Disk {
        contents: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.contents.len());
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.contents.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Cut for &mut Disk {
        fn cut(&mut self, size: u64) {
            self.contents.truncate(size as usize);
        }
    }

    /// Writes 40 records of 5,000 bytes each, in pieces. Returns how many bytes are in the file, and whether some are missing.
    fn written(room: usize, size_max: u64) -> (usize, bool) {
        let mut disk = Disk { contents: Vec::new(), room };
        let mut records = Records::new(&mut disk, size_max);
        for _ in 0..40 {
            records.add(&[RECORD_SEPARATOR]);
            records.add(&[b'x'; 4998]);
            records.add(b"\n");
        }
        records.close();
        let is_cut = records.is_cut;
        assert!(disk.contents.chunks(5000).all(|record| record.ends_with(b"x\n") && record[0] == 0x1e));
        (disk.contents.len(), is_cut)
    }

    #[test]
    fn a_file_has_whole_records_whatever_happens() {
        assert_eq!(written(1 << 20, 1 << 20), (200_000, false));
        assert_eq!(written(200_000, 200_000), (200_000, false));
        assert_eq!(written(1 << 20, 199_999), (195_000, true));
        assert_eq!(written(1 << 20, 4_999), (0, true));
        // What was gathered when the disk was full is lost.
        assert_eq!(written(150_000, 1 << 20), (140_000, true));
        assert_eq!(written(0, 1 << 20), (0, true));
    }
}
