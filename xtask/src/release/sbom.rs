//! The list of components, as CycloneDX 1.5 (<https://cyclonedx.org/docs/1.5/json/>).
//!
//! Made from the same graph as the licences, without the random serial number and the folders that tools put into it.

use serde_json::{Value, json};

use super::packages::{Graph, Package};
use super::source::Source;

/// Libraries in C and C++ that crates have within them, and their licences.
const WITHIN: &[(&str, &str, &str)] = &[
    ("boring-sys", "BoringSSL", "Apache-2.0"),
    ("aws-lc-sys", "AWS-LC", "ISC AND (Apache-2.0 OR ISC) AND OpenSSL"),
];

pub(super) fn document(source: &Source, graph: &Graph) -> anyhow::Result<String> {
    let (program, libraries): (Vec<_>, Vec<_>) =
        graph.packages.iter().partition(|package| package.is_ours && package.name == "httperf");
    let program = program.first().expect("the graph starts at the program");
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": source.date("+%Y-%m-%dT%H:%M:%SZ")?,
            "component": component(program, "application"),
        },
        "components": libraries.iter().map(|package| component(package, "library")).collect::<Vec<_>>(),
        "dependencies": graph.packages.iter().map(dependencies).collect::<Vec<_>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

fn component(package: &Package, kind: &str) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": package.url(),
        "name": package.name,
        "version": package.version,
        "purl": package.url(),
        "licenses": [{ "expression": package.licence }],
    });
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    let within = WITHIN.iter().filter(|(holder, ..)| *holder == package.name);
    let within: Vec<_> = within
        .map(|(_, name, licence)| {
            json!({
                "type": "library",
                "bom-ref": format!("{}#{name}", package.url()),
                "name": name,
                "licenses": [{ "license": { "name": licence } }],
            })
        })
        .collect();
    if !within.is_empty() {
        component["components"] = json!(within);
    }
    component
}

fn dependencies(package: &Package) -> Value {
    json!({ "ref": package.url(), "dependsOn": package.dependencies })
}
