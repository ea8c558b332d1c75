//! header_escapes
