//! Event streams: the same items wherever they are cut, in bounded memory.

use httperf_proto::content::openai::{Piece, whole_answer};
use httperf_proto::content::sse::{Event, Item, Parser};

/// Checks that a stream has the same items however it is cut, and that nothing of it is larger than its first byte allows. The
/// data of each event is read as a model's, and all of them are put together to an answer, which must be an object of JSON.
///
/// # Panics
/// If this is not so.
pub fn check_event_stream(input: &[u8]) {
    let Some((&size_max, stream)) = input.split_first() else { return };
    let size_max = usize::from(size_max) + 1;
    let whole = items(size_max, [stream]);
    let cut = stream.len() / 2;
    assert_eq!(whole, items(size_max, [&stream[..cut], &stream[cut..]]), "cut at {cut}");
    assert_eq!(whole, items(size_max, stream.chunks(1)), "byte by byte");
    if let Some(answer) = whole_answer(stream) {
        assert!(matches!(serde_json::from_slice(&answer), Ok(serde_json::Value::Object(_))), "{answer:?}");
    }
}

/// An item, with its bytes.
type Owned = Option<(Option<Vec<u8>>, Vec<u8>, Vec<u8>, bool)>;

fn items<'a>(size_max: usize, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Owned>, bool) {
    let (mut parser, mut items) = (Parser::new(size_max), Vec::new());
    for piece in pieces {
        parser.push(piece, &mut |item| {
            items.push(match item {
                Item::Event(Event { name, data, last_id, is_cut }) => {
                    assert!(data.len() <= size_max && last_id.len() <= size_max);
                    let _ = Piece::parse(data);
                    Some((name.map(<[u8]>::to_vec), data.to_vec(), last_id.to_vec(), is_cut))
                }
                Item::Comment | Item::Retry(_) => None,
            });
        });
    }
    (items, parser.is_within_event())
}
