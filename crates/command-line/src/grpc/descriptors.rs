//! Descriptions of services: from .proto files, and from sets of descriptors.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use prost_reflect::{DescriptorPool, MethodDescriptor};

use super::{GrpcError, files, read};
use crate::args::GrpcMethod;

/// Compiles .proto files, which are searched in the folders for imports as well. Without any, these are the working directory and
/// those of the files.
pub(super) fn of_files(files: &[OsString], folders: &[OsString]) -> Result<DescriptorPool, GrpcError> {
    let mut includes: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    if includes.is_empty() {
        includes.push(PathBuf::from("."));
        for file in files {
            let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty());
            includes.extend(folder.map(Path::to_owned).filter(|folder| !includes.contains(folder)));
        }
    }
    let paths: Vec<PathBuf> = files.iter().map(|file| found(file, &includes)).collect();
    for (file, path) in files.iter().zip(&paths) {
        // Said here with the name that was typed.
        if let Err(error) = std::fs::metadata(path) {
            return Err(GrpcError::Unreadable { option: "--proto", path: file.into(), error });
        }
    }
    let error = |error: protox::Error| GrpcError::Proto(sentence(&error));
    let mut compiler = protox::Compiler::new(includes).map_err(error)?;
    compiler.open_files(paths).map_err(error)?;
    Ok(compiler.descriptor_pool())
}

/// The path of a file: as it was typed, or within the first folder that has it.
fn found(file: &OsStr, folders: &[PathBuf]) -> PathBuf {
    let typed = PathBuf::from(file);
    let is_typed = typed.exists() || typed.is_absolute();
    let within = folders.iter().map(|folder| folder.join(&typed)).find(|path| !is_typed && path.exists());
    within.unwrap_or(typed)
}

/// The message of an error of the compiler, on one line.
fn sentence(error: &protox::Error) -> String {
    // In this form it has its place.
    let text = format!("{error:?}");
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Reads sets of descriptors.
pub(super) fn of_sets(paths: &[OsString]) -> Result<DescriptorPool, GrpcError> {
    let mut pool = DescriptorPool::new();
    for path in paths {
        let bytes = read("--protoset", path)?;
        files::of_set(&bytes)
            .and_then(|found| files::add(&mut pool, found))
            .map_err(|reason| GrpcError::Protoset { path: path.into(), reason })?;
    }
    Ok(pool)
}

/// Finds a method. `of`: who describes services.
pub(super) fn method(
    pool: &DescriptorPool,
    method: &GrpcMethod,
    of: &str,
) -> Result<MethodDescriptor, GrpcError> {
    let Some(service) = pool.get_service_by_name(&method.service) else {
        let mut known: Vec<String> = pool.services().map(|service| service.full_name().to_owned()).collect();
        known.sort_unstable();
        return Err(GrpcError::Service { of: of.to_owned(), service: method.service.clone(), known });
    };
    let found = service.methods().find(|known| known.name() == method.name);
    found.ok_or_else(|| GrpcError::Method {
        service: method.service.clone(),
        method: method.name.clone(),
        known: service.methods().map(|known| known.name().to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_searched_in_the_folders_for_imports() {
        let folder = tempfile::tempdir().unwrap();
        let protos = folder.path().join("protos");
        std::fs::create_dir_all(protos.join("t")).unwrap();
        let types = "syntax = \"proto3\"; package t; message In { string text = 1; }";
        let service = "syntax = \"proto3\"; package a; import \"t/types.proto\"; service S { rpc Do(t.In) returns (t.In); }";
        std::fs::write(protos.join("t/types.proto"), types).unwrap();
        std::fs::write(protos.join("t/test.proto"), service).unwrap();
        let whole = protos.join("t/test.proto");
        for file in ["t/test.proto".into(), whole.into_os_string()] {
            let pool = of_files(&[file], &[folder.path().into(), protos.clone().into()]);
            assert!(pool.unwrap().get_service_by_name("a.S").is_some());
        }
        let error = of_files(&["t/none.proto".into()], &[protos.into()]).unwrap_err().to_string();
        assert!(error.starts_with("--proto: cannot read `t/none.proto`: No such file"), "{error}");
    }

    /// A file of edition 2023, as protoc writes it: a field with presence, one without, one that is required, numbers that are
    /// packed and that are not, and a message in the form of a group.
    #[test]
    fn files_of_an_edition_are_read_as_what_they_mean() {
        use prost::Message;
        use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
        use prost_reflect::prost_types::{
            DescriptorProto, FieldDescriptorProto, FileDescriptorProto, MethodDescriptorProto,
            ServiceDescriptorProto,
        };

        let field = |name: &str, number, kind: Type, label: Label| FieldDescriptorProto {
            name: Some(name.into()),
            number: Some(number),
            r#type: Some(kind.into()),
            label: Some(label.into()),
            type_name: (kind == Type::Message).then(|| ".e.In.Inner".into()),
            ..FieldDescriptorProto::default()
        };
        let plain = FileDescriptorProto {
            name: Some("e.proto".into()),
            package: Some("e".into()),
            syntax: Some("editions".into()),
            message_type: vec![DescriptorProto {
                name: Some("In".into()),
                field: vec![
                    field("text", 1, Type::String, Label::Optional),
                    field("packed", 2, Type::Int32, Label::Repeated),
                    field("expanded", 3, Type::Int32, Label::Repeated),
                    field("inner", 4, Type::Message, Label::Optional),
                ],
                nested_type: vec![DescriptorProto {
                    name: Some("Inner".into()),
                    field: vec![field("text", 1, Type::String, Label::Optional)],
                    ..DescriptorProto::default()
                }],
                ..DescriptorProto::default()
            }],
            service: vec![ServiceDescriptorProto {
                name: Some("S".into()),
                method: vec![MethodDescriptorProto {
                    name: Some("Do".into()),
                    input_type: Some(".e.In".into()),
                    output_type: Some(".e.In".into()),
                    ..MethodDescriptorProto::default()
                }],
                ..ServiceDescriptorProto::default()
            }],
            ..FileDescriptorProto::default()
        };
        // What prost does not know is appended to messages in their encoded form.
        let with = |message: &[u8], number: u8, part: &[u8]| {
            let mut whole = [message, &[(number << 3) | 2]].concat();
            prost::encoding::encode_varint(part.len() as u64, &mut whole);
            whole.extend_from_slice(part);
            whole
        };
        let options =
            |feature: &[u8]| [&[0xaa, 0x01, u8::try_from(feature.len()).unwrap()], feature].concat();
        let message = &plain.message_type[0];
        let fields: Vec<Vec<u8>> = message.field.iter().map(Message::encode_to_vec).collect();
        let fields = [
            with(&fields[0], 8, &options(&[1 << 3, 3])),
            fields[1].clone(),
            with(&fields[2], 8, &options(&[3 << 3, 2])),
            with(&fields[3], 8, &options(&[5 << 3, 2])),
        ];
        let bare = DescriptorProto { field: Vec::new(), ..message.clone() }.encode_to_vec();
        let message = fields.iter().fold(bare, |message, field| with(&message, 2, field));
        let bare = FileDescriptorProto { message_type: Vec::new(), ..plain.clone() }.encode_to_vec();
        let file = |edition: &[u8]| [&with(&bare, 4, &message)[..], &[14 << 3], edition].concat();
        let pool = |file: &[u8]| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("set");
            std::fs::write(&path, with(&[], 1, file)).unwrap();
            of_sets(&[path.into()])
        };
        for edition in [[0xe8, 0x07], [0xe9, 0x07]] {
            let pool = pool(&file(&edition)).unwrap();
            let message = pool.get_message_by_name("e.In").unwrap();
            assert!(
                message.get_field_by_name("text").unwrap().cardinality()
                    == prost_reflect::Cardinality::Required
            );
            let json = r#"{"text":"","packed":[1,2],"expanded":[3,4],"inner":{"text":"x"}}"#;
            let data = crate::args::GrpcData::Text(json.into());
            let encoded = crate::grpc::messages::encoded(Some(&data), &message).unwrap();
            let parts = [&b"\x0a\x00"[..], b"\x12\x02\x01\x02", b"\x18\x03\x18\x04", b"\x23\x0a\x01x\x24"];
            assert_eq!(encoded, [parts.concat()]);
            let method = GrpcMethod::parse(b"e.S/Do").unwrap();
            assert!(super::method(&pool, &method, "--protoset").is_ok());
        }
        let unknown = pool(&file(&[0xea, 0x07])).unwrap_err().to_string();
        assert!(unknown.ends_with("`e.proto` is of an edition other than 2023 and 2024"), "{unknown}");
        let strange = FileDescriptorProto { syntax: Some("proto9".into()), ..plain };
        let strange = pool(&strange.encode_to_vec()).unwrap_err().to_string();
        assert!(
            strange.ends_with("`e.proto`: expected the syntax proto2, proto3 or editions, got `proto9`"),
            "{strange}"
        );
    }
}
