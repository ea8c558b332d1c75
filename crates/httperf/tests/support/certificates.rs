//! Certificates for the servers and clients of the tests, made anew for each.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

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
        let ca_key = KeyPair::generate().expect("a key can be made");
        let ca = authority("the authority of the tests");
        made.write("ca.pem", &ca.self_signed(&ca_key).expect("an authority signs itself").pem());
        let stranger = authority("a stranger");
        let stranger_key = KeyPair::generate().expect("a key can be made");
        made.write(
            "stranger.pem",
            &stranger.self_signed(&stranger_key).expect("an authority signs itself").pem(),
        );
        let issuer = Issuer::new(ca, ca_key);
        for (name, names) in [
            ("server", &["localhost", "127.0.0.1"][..]),
            ("expired", &["localhost", "127.0.0.1"]),
            ("other", &["other.invalid"]),
            ("client", &["client"]),
        ] {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let mut params = CertificateParams::new(names).expect("the names are such");
            params.distinguished_name.push(DnType::CommonName, name);
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after =
                if name == "expired" { date_time_ymd(2021, 1, 1) } else { date_time_ymd(2090, 1, 1) };
            params.extended_key_usages =
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
            let key = KeyPair::generate().expect("a key can be made");
            let certificate = params.signed_by(&key, &issuer).expect("the authority signs it");
            made.write(&format!("{name}.pem"), &certificate.pem());
            made.write(&format!("{name}.key"), &key.serialize_pem());
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

    fn write(&self, name: &str, contents: &str) {
        fs::write(self.folder.join(name), contents).expect("the folder can be written to");
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}
