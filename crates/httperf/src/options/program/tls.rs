//! TLS. The options are known so that command lines can be read; planning refuses to run with them.

use crate::args::Args;
use crate::options::{Opt, Tier, ValueForm};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt {
        long: "ssl",
        short: None,
        value: ValueForm::None,
        tier: Tier::Classic090,
        help: "speaks TLS with the server (not available in this version)",
        details: &["This version reads the option and says that it cannot run with it."],
        apply: |args, _| {
            args.ssl = true;
            Ok(())
        },
    },
    Opt {
        long: "ssl-ciphers",
        short: None,
        value: ValueForm::Required("L"),
        tier: Tier::Classic090,
        help: "offers these ciphers, a list in OpenSSL's syntax",
        details: &["Default: those of the library. Has no effect without --ssl."],
        apply: |args, value| {
            args.ssl_ciphers = Some(value.bytes().to_vec());
            Ok(())
        },
    },
    Opt {
        long: "ssl-no-reuse",
        short: None,
        value: ValueForm::None,
        tier: Tier::Classic090,
        help: "makes a full handshake for every connection of a session",
        details: &["Has no effect without --ssl."],
        apply: |args, _| {
            args.ssl_no_reuse = true;
            Ok(())
        },
    },
];
