//! Numbered events, the form of `/sse/N`.

use std::io::Write as _;

use crate::stamps::Departure;

/// Writes an event whose data have this size, or are as small as possible.
pub(super) fn write_numbered(index: u32, size: u64, departure: Departure, out: &mut Vec<u8>) {
    write!(out, "id: {index}\ndata: ").expect("a Vec takes any bytes");
    write_data(index, size, departure, out);
    out.extend_from_slice(b"\n\n");
}

/// Writes the data alone.
pub(super) fn write_data(index: u32, size: u64, departure: Departure, out: &mut Vec<u8>) {
    let Departure { sent_ns, due_ns } = departure;
    let start = out.len();
    write!(out, r#"{{"event":{index},"sent_ns":{sent_ns},"due_ns":{due_ns}"#).expect("a Vec takes any bytes");
    let around = out.len() - start + PADDING_BEFORE.len() + PADDING_AFTER.len();
    let padding = usize::try_from(size).unwrap_or(usize::MAX).checked_sub(around);
    match padding {
        Some(padding) => {
            out.extend_from_slice(PADDING_BEFORE);
            out.resize(out.len() + padding, b'x');
            out.extend_from_slice(PADDING_AFTER);
        }
        None => out.push(b'}'),
    }
}

const PADDING_BEFORE: &[u8] = br#","padding":""#;
const PADDING_AFTER: &[u8] = br#""}"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(index: u32, size: u64) -> String {
        let mut out = Vec::new();
        write_numbered(index, size, Departure { sent_ns: 1_700_000_000_000_000_001, due_ns: 17 }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_event_has_its_number_and_its_times() {
        assert_eq!(
            numbered(7, 0),
            "id: 7\ndata: {\"event\":7,\"sent_ns\":1700000000000000001,\"due_ns\":17}\n\n"
        );
    }

    #[test]
    fn data_are_padded_to_their_size_if_there_is_room_for_padding() {
        let data = |size| {
            let event = numbered(12, size);
            event.strip_prefix("id: 12\ndata: ").unwrap().strip_suffix("\n\n").unwrap().to_owned()
        };
        let bare = data(0).len() as u64;
        for size in [bare + 13, bare + 14, 1000] {
            assert_eq!(data(size).len() as u64, size);
            assert!(data(size).contains(",\"padding\":\""), "{size}");
        }
        for size in [1, bare, bare + 12] {
            assert_eq!(data(size), data(0), "{size}");
        }
    }
}
