//! Files of descriptors, as `protoc` writes them and servers send them: checked, and those of an edition lowered to proto2.
//!
//! Refusals of what would make the library behind it panic.
//!
//! <https://protobuf.dev/editions/features>

use prost::Message;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{DescriptorProto, FieldDescriptorProto, FieldOptions, FileDescriptorProto};
use prost_reflect::{DescriptorPool, MessageDescriptor};

/// The editions that are understood, and the syntax that their files name.
const EDITIONS: [(i32, &str); 2] = [(1000, "2023"), (1001, "2024")];
const OF_EDITION: &str = "editions";

/// Field numbers of a map's key and value in the message that stands for its entries.
const MAP_ENTRY: [i32; 2] = [1, 2];

/// Reads the files of a set.
pub(super) fn of_set(bytes: &[u8]) -> Result<Vec<FileDescriptorProto>, String> {
    let Set { file } = Set::decode(bytes).map_err(|error| error.to_string())?;
    file.iter().map(|bytes| decode(bytes)).collect()
}

/// Reads a file. One of an edition is lowered to proto2, which says the same of its messages.
pub(super) fn decode(bytes: &[u8]) -> Result<FileDescriptorProto, String> {
    let mut file = FileDescriptorProto::decode(bytes).map_err(|error| error.to_string())?;
    match file.syntax() {
        "" | "proto2" | "proto3" => {}
        OF_EDITION => {
            let features = FileFeatures::decode(bytes).map_err(|error| error.to_string())?;
            let known = EDITIONS.map(|(_, name)| name).join(" and ");
            if EDITIONS.iter().all(|&(number, _)| Some(number) != features.edition) {
                return Err(format!("`{}` is of an edition other than {known}", file.name()));
            }
            lower(&mut file, &features);
        }
        other => {
            let name = file.name();
            return Err(format!("`{name}`: expected the syntax proto2, proto3 or editions, got `{other}`"));
        }
    }
    file.message_type.iter().try_for_each(check).map_err(|reason| format!("`{}`: {reason}", file.name()))?;
    Ok(file)
}

/// Adds files to a pool.
pub(super) fn add(pool: &mut DescriptorPool, files: Vec<FileDescriptorProto>) -> Result<(), String> {
    pool.add_file_descriptor_protos(files).map_err(|error| error.to_string())?;
    let known = DescriptorPool::global();
    match pool.all_messages().find(|message| !is_as_known(message, &known)) {
        Some(message) => {
            Err(format!("its `{}` is another than the one that protobuf defines", message.full_name()))
        }
        None => Ok(()),
    }
}

/// Checks what the entries of maps consist of.
fn check(message: &DescriptorProto) -> Result<(), String> {
    let is_map_entry =
        message.options.as_ref().is_some_and(prost_reflect::prost_types::MessageOptions::map_entry);
    if is_map_entry {
        let [key, value] =
            MAP_ENTRY.map(|number| message.field.iter().find(|field| field.number() == number));
        let is_key = |key: &FieldDescriptorProto| {
            let is_plain = !matches!(
                key.r#type(),
                Type::Double | Type::Float | Type::Bytes | Type::Message | Type::Group | Type::Enum
            );
            is_plain && key.type_name.is_none() && key.label() != Label::Repeated
        };
        let is_value = |value: &FieldDescriptorProto| value.label() != Label::Repeated;
        if message.field.len() != MAP_ENTRY.len() || !key.is_some_and(is_key) || !value.is_some_and(is_value)
        {
            return Err(format!("`{}` is no entry of a map", message.name()));
        }
    }
    message.nested_type.iter().try_for_each(check)
}

/// The messages of protobuf whose JSON has a form of its own.
const WELL_KNOWN: [&str; 18] = [
    "Any",
    "BoolValue",
    "BytesValue",
    "DoubleValue",
    "Duration",
    "Empty",
    "FieldMask",
    "FloatValue",
    "Int32Value",
    "Int64Value",
    "ListValue",
    "StringValue",
    "Struct",
    "Struct.FieldsEntry",
    "Timestamp",
    "UInt32Value",
    "UInt64Value",
    "Value",
];

/// Returns whether a message has the fields that protobuf defines, if it has the name of one of its well-known types.
fn is_as_known(message: &MessageDescriptor, known: &DescriptorPool) -> bool {
    let name = message.full_name().strip_prefix("google.protobuf.").unwrap_or_default();
    if !WELL_KNOWN.contains(&name) {
        return true;
    }
    let Some(known) = known.get_message_by_name(message.full_name()) else { return true };
    message.is_map_entry() == known.is_map_entry()
        && message.fields().len() == known.fields().len()
        && known.fields().all(|known| {
            message.get_field(known.number()).is_some_and(|field| {
                let (is, should) = (field.field_descriptor_proto(), known.field_descriptor_proto());
                (is.name(), is.label(), is.r#type(), is.type_name())
                    == (should.name(), should.label(), should.r#type(), should.type_name())
                    && is.oneof_index == should.oneof_index
            })
        })
}

/// Rewrites a file of an edition as one of proto2.
///
/// A field without presence becomes one with presence: whoever reads its message cannot tell.
fn lower(file: &mut FileDescriptorProto, features: &FileFeatures) {
    file.syntax = Some("proto2".to_owned());
    let of_file = features.options.and_then(|options| options.features).unwrap_or_default();
    for (message, features) in file.message_type.iter_mut().zip(&features.message_type) {
        lower_message(message, features, of_file);
    }
    for (field, features) in file.extension.iter_mut().zip(&features.extension) {
        lower_field(field, features.of(of_file), &[]);
    }
}

fn lower_message(message: &mut DescriptorProto, features: &MessageFeatures, of_parent: Features) {
    let own = features.options.and_then(|options| options.features).unwrap_or_default();
    let of_message = own.or(of_parent);
    let is_map = |nested: &&DescriptorProto| {
        nested.options.as_ref().is_some_and(prost_reflect::prost_types::MessageOptions::map_entry)
    };
    let maps: Vec<String> =
        message.nested_type.iter().filter(is_map).map(|map| map.name().to_owned()).collect();
    let is_map_entry = is_map(&&*message);
    for (field, features) in message.field.iter_mut().zip(&features.field) {
        // The entries of maps are as they ever were.
        if !is_map_entry {
            lower_field(field, features.of(of_message), &maps);
        }
    }
    for (field, features) in message.extension.iter_mut().zip(&features.extension) {
        lower_field(field, features.of(of_message), &[]);
    }
    for (nested, features) in message.nested_type.iter_mut().zip(&features.nested_type) {
        lower_message(nested, features, of_message);
    }
}

/// `maps`: the names of messages that stand for entries of maps.
fn lower_field(field: &mut FieldDescriptorProto, features: Features, maps: &[String]) {
    if features.field_presence == Some(LEGACY_REQUIRED) && field.label() == Label::Optional {
        field.set_label(Label::Required);
    }
    let is_packable = !matches!(field.r#type(), Type::String | Type::Bytes | Type::Message | Type::Group);
    if field.label() == Label::Repeated && is_packable {
        let options = field.options.get_or_insert_with(FieldOptions::default);
        options.packed = Some(features.repeated_field_encoding != Some(EXPANDED));
    }
    let is_map = || {
        let name = field.type_name().rsplit('.').next().unwrap_or_default();
        field.label() == Label::Repeated && maps.iter().any(|map| map == name)
    };
    if field.r#type() == Type::Message && features.message_encoding == Some(DELIMITED) && !is_map() {
        field.set_type(Type::Group);
    }
}

/// Values of features that differ from the default of editions 2023 and 2024.
const LEGACY_REQUIRED: i32 = 3;
const EXPANDED: i32 = 2;
const DELIMITED: i32 = 2;

#[derive(Clone, PartialEq, Message)]
struct Set {
    #[prost(bytes = "vec", repeated, tag = "1")]
    file: Vec<Vec<u8>>,
}

/// The parts of a file that tell of its edition.
#[derive(Clone, PartialEq, Message)]
struct FileFeatures {
    #[prost(int32, optional, tag = "14")]
    edition: Option<i32>,
    #[prost(message, optional, tag = "8")]
    options: Option<FileOptions>,
    #[prost(message, repeated, tag = "4")]
    message_type: Vec<MessageFeatures>,
    #[prost(message, repeated, tag = "7")]
    extension: Vec<FieldFeatures>,
}

#[derive(Clone, PartialEq, Message)]
struct MessageFeatures {
    #[prost(message, optional, tag = "7")]
    options: Option<MessageOptions>,
    #[prost(message, repeated, tag = "2")]
    field: Vec<FieldFeatures>,
    #[prost(message, repeated, tag = "3")]
    nested_type: Vec<MessageFeatures>,
    #[prost(message, repeated, tag = "6")]
    extension: Vec<FieldFeatures>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldFeatures {
    #[prost(message, optional, tag = "8")]
    options: Option<FieldOptionsFeatures>,
}

impl FieldFeatures {
    /// Its features, where it has none those of what it is in.
    fn of(&self, parent: Features) -> Features {
        self.options.and_then(|options| options.features).unwrap_or_default().or(parent)
    }
}

#[derive(Clone, Copy, PartialEq, Message)]
struct FileOptions {
    #[prost(message, optional, tag = "50")]
    features: Option<Features>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct MessageOptions {
    #[prost(message, optional, tag = "12")]
    features: Option<Features>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct FieldOptionsFeatures {
    #[prost(message, optional, tag = "21")]
    features: Option<Features>,
}

/// The features that decide how a message is encoded.
#[derive(Clone, Copy, PartialEq, Message)]
struct Features {
    #[prost(int32, optional, tag = "1")]
    field_presence: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    repeated_field_encoding: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    message_encoding: Option<i32>,
}

impl Features {
    fn or(self, other: Self) -> Self {
        Self {
            field_presence: self.field_presence.or(other.field_presence),
            repeated_field_encoding: self.repeated_field_encoding.or(other.repeated_field_encoding),
            message_encoding: self.message_encoding.or(other.message_encoding),
        }
    }
}
