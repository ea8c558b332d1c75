"""Reads `cargo metadata` on stdin; fails if a package's licence or source is not one that deny.toml allows."""

import json
import re
import sys
import tomllib


def main() -> int:
    with open(sys.argv[1], "rb") as file:
        rules = tomllib.load(file)
    allowed = set(rules["licenses"]["allow"])
    allowed_sources = {f"registry+{url}" for url in rules["sources"]["allow-registry"]}

    packages = json.load(sys.stdin)["packages"]
    faults = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        licence = package["license"]
        if licence is None or not satisfied(licence, allowed):
            faults.append(f"{name}: licence not allowed by deny.toml: {licence}")
        # A package without a source is a member of this workspace.
        if package["source"] is not None and package["source"] not in allowed_sources:
            faults.append(f"{name}: source not allowed by deny.toml: {package['source']}")

    for fault in faults:
        print(fault, file=sys.stderr)
    if not faults:
        print(f"licences and sources of {len(packages)} packages are allowed by deny.toml")
    return 1 if faults else 0


def satisfied(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met with the allowed licences. AND binds closer than OR."""
    # Some old crates write `MIT/Apache-2.0` for a choice.
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def either() -> bool:
        met = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met = both() or met
        return met

    def both() -> bool:
        met = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met = one() and met
        return met

    def one() -> bool:
        token = tokens.pop(0)
        if token == "(":
            met = either()
            tokens.pop(0)
            return met
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token = f"{token} WITH {tokens.pop(0)}"
        return token in allowed

    return either()


sys.exit(main())
