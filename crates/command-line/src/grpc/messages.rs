//! The messages of requests: JSON, encoded by a description.

use prost::Message as _;
use prost_reflect::{DynamicMessage, MessageDescriptor};

use super::{GrpcError, read};
use crate::args::GrpcData;

/// Encodes the messages that were typed; one without content if none was.
pub(super) fn encoded(
    data: Option<&GrpcData>,
    message: &MessageDescriptor,
) -> Result<Vec<Vec<u8>>, GrpcError> {
    let (text, place) = match data {
        None => return Ok(vec![Vec::new()]),
        Some(GrpcData::Text(text)) => (text.clone(), String::new()),
        Some(GrpcData::File(path)) => (read("--grpc-data", path)?, format!("{}: ", path.display())),
    };
    let found = all(&text, message).map_err(|reason| GrpcError::Json {
        place,
        message: message.full_name().to_owned(),
        reason,
    })?;
    match (found.is_empty(), data) {
        (true, Some(GrpcData::File(path))) => Err(GrpcError::NoData(path.into())),
        // As if it had not been given.
        (true, _) => Ok(vec![Vec::new()]),
        (false, _) => Ok(found),
    }
}

/// Encodes values of JSON that stand one after the other.
fn all(text: &[u8], message: &MessageDescriptor) -> Result<Vec<Vec<u8>>, String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let mut found = Vec::new();
    while reader.end().is_err() {
        let value = DynamicMessage::deserialize(message.clone(), &mut reader);
        found.push(value.map_err(|error| error.to_string())?.encode_to_vec());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::descriptors;

    fn message(folder: &tempfile::TempDir) -> MessageDescriptor {
        let file = folder.path().join("a.proto");
        std::fs::write(
            &file,
            "syntax = \"proto3\"; package a; enum Kind { NONE = 0; BIG = 1; }
             message M { string text = 1; repeated int64 numbers = 2; bytes data = 3; M inner = 4; Kind kind = 5; }",
        )
        .unwrap();
        let pool = descriptors::of_files(&[file.into()], &[]).unwrap();
        pool.get_message_by_name("a.M").unwrap()
    }

    fn text(text: &str) -> Option<GrpcData> {
        Some(GrpcData::Text(text.into()))
    }

    #[test]
    fn json_becomes_messages() {
        let folder = tempfile::tempdir().unwrap();
        let message = message(&folder);
        let of = |data: Option<GrpcData>| encoded(data.as_ref(), &message).unwrap();
        assert_eq!(of(None), [b""]);
        assert_eq!(of(text(" ")), [b""]);
        assert_eq!(of(text("{\"text\":\"hi\"}")), [b"\x0a\x02hi"]);
        // RFC 8259 knows no numbers of 64 bits, so that they may be text.
        assert_eq!(of(text(r#"{"numbers":["1",2],"kind":"BIG"}"#)), [b"\x12\x02\x01\x02\x28\x01"]);
        assert_eq!(of(text(r#"{"data":"AAE=","inner":{}}"#)), [b"\x1a\x02\0\x01\x22\0"]);
        let file = folder.path().join("lines");
        std::fs::write(&file, "{\"text\":\"a\"}\n{}\n\n{\"text\":\"b\"}{\"text\":\"c\"}\n").unwrap();
        let lines = of(Some(GrpcData::File(file.into())));
        assert_eq!(lines, [&b"\x0a\x01a"[..], b"", b"\x0a\x01b", b"\x0a\x01c"]);
    }

    #[test]
    fn what_does_not_fit_is_said_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let message = message(&folder);
        let error = |data: Option<GrpcData>| encoded(data.as_ref(), &message).unwrap_err().to_string();
        insta::assert_snapshot!(error(text("{\"txt\":1}")), @"--grpc-data: expected JSON of a.M: unrecognized field name 'txt' at line 1 column 6");
        insta::assert_snapshot!(error(text("{\"text\":1}")), @"--grpc-data: expected JSON of a.M: invalid type: integer `1`, expected a string at line 1 column 9");
        insta::assert_snapshot!(error(text("{\"text\":\"a\"} {\"numbers\":[1.5]}")), @"--grpc-data: expected JSON of a.M: expected integer value at line 1 column 28");
        insta::assert_snapshot!(error(text("{\"kind\":\"SMALL\"}")), @"--grpc-data: expected JSON of a.M: unrecognized enum value 'SMALL' at line 1 column 15");
        insta::assert_snapshot!(error(text("{\"text\":")), @"--grpc-data: expected JSON of a.M: EOF while parsing a value at line 1 column 8");
        let file = folder.path().join("none");
        std::fs::write(&file, "\n").unwrap();
        let said = error(Some(GrpcData::File(file.clone().into())));
        assert_eq!(
            said,
            format!("--grpc-data: {}: expected at least one value of JSON, got none", file.display())
        );
    }
}
