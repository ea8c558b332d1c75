//! Descriptions of services: from .proto files, and from sets of descriptors.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prost_reflect::{DescriptorPool, MethodDescriptor};

use super::{GrpcError, read};
use crate::command_line::args::GrpcMethod;

/// Compiles .proto files. Without folders for imports, these are the working directory and those of the files.
pub(super) fn of_files(files: &[OsString], folders: &[OsString]) -> Result<DescriptorPool, GrpcError> {
    let mut includes: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
    if includes.is_empty() {
        includes.push(PathBuf::from("."));
        for file in files {
            let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty());
            includes.extend(folder.map(Path::to_owned).filter(|folder| !includes.contains(folder)));
        }
    }
    for file in files {
        // Said here with the name that was typed.
        read("--proto", file)?;
    }
    let error = |error: protox::Error| GrpcError::Proto(sentence(&error));
    let mut compiler = protox::Compiler::new(includes).map_err(error)?;
    compiler.open_files(files.iter().map(Path::new)).map_err(error)?;
    Ok(compiler.descriptor_pool())
}

/// The message of an error of the compiler, on one line.
fn sentence(error: &protox::Error) -> String {
    // In this form it has its place.
    let text = format!("{error:?}");
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Reads sets of descriptors.
pub(super) fn of_sets(files: &[OsString]) -> Result<DescriptorPool, GrpcError> {
    let mut pool = DescriptorPool::new();
    for file in files {
        let bytes = read("--protoset", file)?;
        pool.decode_file_descriptor_set(&bytes[..])
            .map_err(|error| GrpcError::Protoset { path: file.into(), reason: error.to_string() })?;
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
