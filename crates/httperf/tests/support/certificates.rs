//! Certificates for the servers and clients of the tests, made anew for each.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use httperf_certificates::{Draft, Identity, p256_key};

/// A folder with an authority and what it has signed, in PEM.
#[derive(Debug)]
pub(crate) struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Makes `ca.pem`, and below it `server` (for localhost and 127.0.0.1), `expired`, `other` (for other.invalid) and
    /// `client`, each with `.pem` and `.key`; and `stranger.pem`, an authority that has signed nothing.
    pub(crate) fn make(folder: &Path) {
        let made = Self::of(folder);
        let issuer = authority("the authority of the tests");
        made.write("ca.pem", &issuer.certificate_pem());
        made.write("stranger.pem", &authority("a stranger").certificate_pem());
        let local = |draft: Draft| draft.for_dns("localhost").for_ip([127, 0, 0, 1].into());
        let server = local(Draft::new("server")).valid(at(YEAR_2020), at(YEAR_2090));
        let expired = local(Draft::new("expired")).valid(at(YEAR_2020), at(YEAR_2021));
        let other = Draft::new("other").for_dns("other.invalid").valid(at(YEAR_2020), at(YEAR_2090));
        let client = Draft::new("client").for_dns("client").valid(at(YEAR_2020), at(YEAR_2090));
        for (name, draft) in [("server", server), ("expired", expired), ("other", other), ("client", client)]
        {
            let key = p256_key().expect("a key can be made");
            let certificate =
                draft.for_servers().for_clients().signed_by(&issuer, &key).expect("the authority signs it");
            let identity = Identity { certificate, key };
            made.write(&format!("{name}.pem"), &identity.certificate_pem());
            made.write(&format!("{name}.key"), &identity.key_pem());
        }
    }

    /// Those that were made in a folder.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// The path of one of the files.
    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().expect("temporary folders have plain names").to_owned()
    }

    fn write(&self, name: &str, contents: &[u8]) {
        fs::write(self.folder.join(name), contents).expect("the folder can be written to");
    }
}

fn authority(name: &str) -> Identity {
    let key = p256_key().expect("a key can be made");
    let certificate = Draft::new(name).as_authority().self_signed(&key).expect("an authority signs itself");
    Identity { certificate, key }
}

/// The beginnings of years, in seconds since the Unix epoch.
const YEAR_2020: u64 = 1_577_836_800;
const YEAR_2021: u64 = 1_609_459_200;
const YEAR_2090: u64 = 3_786_912_000;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}
