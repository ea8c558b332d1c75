//! The fields that every connection knows (RFC 9204, appendix A).

use crate::header_compression::Field;

/// The fields with the indices 0 to 98.
///
/// <https://www.rfc-editor.org/rfc/rfc9204#appendix-A>
#[rustfmt::skip]
const FIELDS: [Field<'static>; 99] = [
    (b":authority", b""),
    (b":path", b"/"),
    (b"age", b"0"),
    (b"content-disposition", b""),
    (b"content-length", b"0"),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"referer", b""),
    (b"set-cookie", b""),
    (b":method", b"CONNECT"),
    (b":method", b"DELETE"),
    (b":method", b"GET"),
    (b":method", b"HEAD"),
    (b":method", b"OPTIONS"),
    (b":method", b"POST"),
    (b":method", b"PUT"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"103"),
    (b":status", b"200"),
    (b":status", b"304"),
    (b":status", b"404"),
    (b":status", b"503"),
    (b"accept", b"*/*"),
    (b"accept", b"application/dns-message"),
    (b"accept-encoding", b"gzip, deflate, br"),
    (b"accept-ranges", b"bytes"),
    (b"access-control-allow-headers", b"cache-control"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-allow-origin", b"*"),
    (b"cache-control", b"max-age=0"),
    (b"cache-control", b"max-age=2592000"),
    (b"cache-control", b"max-age=604800"),
    (b"cache-control", b"no-cache"),
    (b"cache-control", b"no-store"),
    (b"cache-control", b"public, max-age=31536000"),
    (b"content-encoding", b"br"),
    (b"content-encoding", b"gzip"),
    (b"content-type", b"application/dns-message"),
    (b"content-type", b"application/javascript"),
    (b"content-type", b"application/json"),
    (b"content-type", b"application/x-www-form-urlencoded"),
    (b"content-type", b"image/gif"),
    (b"content-type", b"image/jpeg"),
    (b"content-type", b"image/png"),
    (b"content-type", b"text/css"),
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-type", b"text/plain"),
    (b"content-type", b"text/plain;charset=utf-8"),
    (b"range", b"bytes=0-"),
    (b"strict-transport-security", b"max-age=31536000"),
    (b"strict-transport-security", b"max-age=31536000; includesubdomains"),
    (b"strict-transport-security", b"max-age=31536000; includesubdomains; preload"),
    (b"vary", b"accept-encoding"),
    (b"vary", b"origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-xss-protection", b"1; mode=block"),
    (b":status", b"100"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"302"),
    (b":status", b"400"),
    (b":status", b"403"),
    (b":status", b"421"),
    (b":status", b"425"),
    (b":status", b"500"),
    (b"accept-language", b""),
    (b"access-control-allow-credentials", b"FALSE"),
    (b"access-control-allow-credentials", b"TRUE"),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-allow-methods", b"get"),
    (b"access-control-allow-methods", b"get, post, options"),
    (b"access-control-allow-methods", b"options"),
    (b"access-control-expose-headers", b"content-length"),
    (b"access-control-request-headers", b"content-type"),
    (b"access-control-request-method", b"get"),
    (b"access-control-request-method", b"post"),
    (b"alt-svc", b"clear"),
    (b"authorization", b""),
    (b"content-security-policy", b"script-src 'none'; object-src 'none'; base-uri 'none'"),
    (b"early-data", b"1"),
    (b"expect-ct", b""),
    (b"forwarded", b""),
    (b"if-range", b""),
    (b"origin", b""),
    (b"purpose", b"prefetch"),
    (b"server", b""),
    (b"timing-allow-origin", b"*"),
    (b"upgrade-insecure-requests", b"1"),
    (b"user-agent", b""),
    (b"x-forwarded-for", b""),
    (b"x-frame-options", b"deny"),
    (b"x-frame-options", b"sameorigin"),
];

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The index of the field.
    Field(u64),
    /// The index of a field of the same name.
    Name(u64),
}

/// Returns the field with this index.
pub(super) fn get(index: u64) -> Option<Field<'static>> {
    FIELDS.get(usize::try_from(index).ok()?).copied()
}

/// Returns the least index of this field, or else of a field with its name.
pub(super) fn find(name: &[u8], value: &[u8]) -> Option<Found> {
    let mut of_name = None;
    for &index in of_size(name.len()) {
        let (its_name, its_value) = FIELDS[usize::from(index)];
        if its_name == name {
            if its_value == value {
                return Some(Found::Field(index.into()));
            }
            of_name = of_name.or(Some(Found::Name(index.into())));
        }
    }
    of_name
}

/// Returns the indices of fields whose names have this size.
fn of_size(size: usize) -> &'static [u8] {
    match STARTS.get(size..size.saturating_add(2)) {
        Some(&[start, end]) => &BY_SIZE[usize::from(start)..usize::from(end)],
        _ => &[],
    }
}

/// The size of the longest name.
const NAME_SIZE_MAX: usize = 32;

/// The indices in the order of the sizes of names.
static BY_SIZE: [u8; FIELDS.len()] = by_size();

/// For each size of a name, the place in [`BY_SIZE`] where it begins; at last its end.
static STARTS: [u8; NAME_SIZE_MAX + 2] = starts();

const fn by_size() -> [u8; FIELDS.len()] {
    let mut places = starts();
    let mut by_size = [0; FIELDS.len()];
    let mut index = 0;
    while index < FIELDS.len() {
        let size = FIELDS[index].0.len();
        by_size[places[size] as usize] = index as u8;
        places[size] += 1;
        index += 1;
    }
    by_size
}

const fn starts() -> [u8; NAME_SIZE_MAX + 2] {
    let mut starts = [0; NAME_SIZE_MAX + 2];
    let mut index = 0;
    while index < FIELDS.len() {
        starts[FIELDS[index].0.len() + 1] += 1;
        index += 1;
    }
    let mut size = 0;
    while size <= NAME_SIZE_MAX {
        starts[size + 1] += starts[size];
        size += 1;
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str, value: &'static str) -> Option<Field<'static>> {
        Some((name.as_bytes(), value.as_bytes()))
    }

    #[test]
    fn fields_are_those_of_the_standard() {
        for (index, name, value) in [
            (0, ":authority", ""),
            (1, ":path", "/"),
            (2, "age", "0"),
            (14, "set-cookie", ""),
            (15, ":method", "CONNECT"),
            (17, ":method", "GET"),
            (21, ":method", "PUT"),
            (23, ":scheme", "https"),
            (24, ":status", "103"),
            (25, ":status", "200"),
            (28, ":status", "503"),
            (29, "accept", "*/*"),
            (31, "accept-encoding", "gzip, deflate, br"),
            (41, "cache-control", "public, max-age=31536000"),
            (47, "content-type", "application/x-www-form-urlencoded"),
            (54, "content-type", "text/plain;charset=utf-8"),
            (58, "strict-transport-security", "max-age=31536000; includesubdomains; preload"),
            (62, "x-xss-protection", "1; mode=block"),
            (63, ":status", "100"),
            (71, ":status", "500"),
            (72, "accept-language", ""),
            (73, "access-control-allow-credentials", "FALSE"),
            (85, "content-security-policy", "script-src 'none'; object-src 'none'; base-uri 'none'"),
            (92, "server", ""),
            (95, "user-agent", ""),
            (98, "x-frame-options", "sameorigin"),
        ] {
            assert_eq!(get(index), field(name, value), "{index}");
        }
        assert_eq!(get(99), None);
        assert_eq!(get(u64::MAX), None);
    }

    #[test]
    fn what_is_found_is_what_a_search_of_all_finds() {
        for (name, _) in FIELDS {
            for (_, value) in FIELDS.into_iter().chain([(&b""[..], &b"no such value"[..])]) {
                let place = |found: &dyn Fn(Field<'_>) -> bool| FIELDS.iter().position(|&field| found(field));
                let field = place(&|field| field == (name, value)).map(|index| Found::Field(index as u64));
                let of_name = place(&|field| field.0 == name).map(|index| Found::Name(index as u64));
                assert_eq!(find(name, value), field.or(of_name));
            }
        }
        assert_eq!(find(b"", b""), None);
        assert_eq!(find(b"x", b""), None);
        assert_eq!(find(&[b'a'; NAME_SIZE_MAX], b""), None);
        assert_eq!(find(&[b'a'; NAME_SIZE_MAX + 1], b""), None);
        assert_eq!(find(&[b'a'; 1000], b""), None);
    }
}
