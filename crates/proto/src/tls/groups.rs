//! Key-exchange groups, with what each puts on the wire.

/// A key-exchange group of TLS 1.3 (its `NamedGroup`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// BoringSSL's name for it.
    pub name: &'static str,
    /// Its number in the IANA registry of TLS supported groups.
    pub id: u16,
    /// Bytes of the client's key share: a public or an encapsulation key, or both.
    pub client_share_size: u16,
    /// Bytes of the server's key share: a public key or a ciphertext, or both.
    pub server_share_size: u16,
    /// True if it resists quantum computers.
    pub is_post_quantum: bool,
    /// Servers that were seen to negotiate it, by their names in [`SERVERS`].
    pub spoken_by: &'static [&'static str],
}

/// The servers that every group was tried with, as installed, and their versions.
pub const SERVERS: &[(&str, &str)] = &[
    ("nginx", "nginx 1.22.1 with OpenSSL 3.0.19 (Debian 12)"),
    ("Go", "crypto/tls of Go 1.26.8"),
    ("Caddy", "Caddy 2.10.2, built with Go 1.26.8"),
    ("BoringSSL", "httperf serve, with the library that httperf itself is built with"),
];

/// Groups of the IANA registry that other implementations have and this library lacks.
pub const ABSENT_GROUPS: &[(&str, u16)] = &[
    ("MLKEM512", 0x0200),
    ("MLKEM768", 0x0201),
    ("SecP256r1MLKEM768", 0x11eb),
    ("SecP384r1MLKEM1024", 0x11ed),
];

/// The groups offered by default: those of browsers. (The library's own default includes one of the drafts.)
pub const DEFAULT_GROUPS: &str = "X25519MLKEM768:X25519:P-256:P-384";

/// All groups of the library.
///
/// Sizes: RFC 8446 section 4.2.8.2 (elliptic curves), RFC 7748 (X25519), FIPS 203 table 3 (ML-KEM),
/// draft-ietf-tls-ecdhe-mlkem (hybrids). The two drafts at the end preceded the hybrids and are going out of use.
pub const GROUPS: &[Group] = &[
    Group {
        name: "X25519MLKEM768",
        id: 0x11ec,
        client_share_size: 1216,
        server_share_size: 1120,
        is_post_quantum: true,
        spoken_by: &["Go", "Caddy", "BoringSSL"],
    },
    Group {
        name: "MLKEM1024",
        id: 0x0202,
        client_share_size: 1568,
        server_share_size: 1568,
        is_post_quantum: true,
        spoken_by: &["BoringSSL"],
    },
    Group {
        name: "X25519",
        id: 0x001d,
        client_share_size: 32,
        server_share_size: 32,
        is_post_quantum: false,
        spoken_by: &["nginx", "Go", "Caddy", "BoringSSL"],
    },
    Group {
        name: "P-256",
        id: 0x0017,
        client_share_size: 65,
        server_share_size: 65,
        is_post_quantum: false,
        spoken_by: &["nginx", "Go", "Caddy", "BoringSSL"],
    },
    Group {
        name: "P-384",
        id: 0x0018,
        client_share_size: 97,
        server_share_size: 97,
        is_post_quantum: false,
        spoken_by: &["nginx", "Go", "BoringSSL"],
    },
    Group {
        name: "P-521",
        id: 0x0019,
        client_share_size: 133,
        server_share_size: 133,
        is_post_quantum: false,
        spoken_by: &["nginx", "Go", "BoringSSL"],
    },
    Group {
        name: "X25519Kyber768Draft00",
        id: 0x6399,
        client_share_size: 1216,
        server_share_size: 1120,
        is_post_quantum: true,
        spoken_by: &["BoringSSL"],
    },
    Group {
        name: "P256Kyber768Draft00",
        id: 0xfe32,
        client_share_size: 1249,
        server_share_size: 1153,
        is_post_quantum: true,
        spoken_by: &["BoringSSL"],
    },
];

impl Group {
    /// Returns the group of this name, as BoringSSL or OpenSSL spells it (`P-256`, `prime256v1`,
    /// `secp256r1`), in upper or lower case.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let alias = match name.to_ascii_lowercase().as_str() {
            "prime256v1" | "secp256r1" | "p256" => "P-256",
            "secp384r1" | "p384" => "P-384",
            "secp521r1" | "p521" => "P-521",
            _ => name,
        };
        GROUPS.iter().find(|group| group.name.eq_ignore_ascii_case(alias))
    }

    /// Returns the group of this number.
    #[must_use]
    pub fn numbered(id: u16) -> Option<&'static Self> {
        GROUPS.iter().find(|group| group.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_holds_every_group_of_the_library() {
        let mut ours: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
        let mut theirs = httperf_sys::tls::group_names();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn the_library_has_no_group_that_is_said_to_be_absent() {
        for (name, id) in ABSENT_GROUPS {
            assert_eq!(Group::named(name), None);
            assert!(GROUPS.iter().all(|group| group.id != *id), "{name}");
            assert!(!httperf_sys::tls::group_names().contains(name), "{name}");
        }
    }

    #[test]
    fn servers_that_speak_a_group_are_among_those_that_were_tried() {
        let tried: Vec<&str> = SERVERS.iter().map(|(name, _)| *name).collect();
        for group in GROUPS {
            assert!(
                group.spoken_by.contains(&"BoringSSL"),
                "{}: both ends have the same library",
                group.name
            );
            assert!(group.spoken_by.iter().all(|name| tried.contains(name)), "{group:?}");
        }
    }

    #[test]
    fn groups_go_by_the_names_that_operators_know() {
        for (name, id) in [
            ("x25519mlkem768", 0x11ec),
            ("X25519", 0x1d),
            ("p-256", 0x17),
            ("secp384r1", 0x18),
            ("P521", 0x19),
        ] {
            assert_eq!(Group::named(name).map(|group| group.id), Some(id), "{name}");
        }
        assert_eq!(Group::named("P-257"), None);
    }
}
