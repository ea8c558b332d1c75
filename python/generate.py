"""Writes the classes of documents from the schemas of the program.

    HTTPERF=target/debug/httperf python3 python/generate.py            writes src/httperf/documents
    HTTPERF=target/debug/httperf python3 python/generate.py --check    fails if it is not up to date

Every object of a schema becomes a frozen dataclass whose fields have the names, defaults and descriptions that the
schema has: older documents are read with the same defaults as by the program. What has behaviour of its own is written
by hand (`BY_HAND`, `METHODS`). Plans stay as they are in the document: they say what was asked for, not what was
measured.
"""

from __future__ import annotations

import json
import keyword
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "src" / "httperf" / "documents"

ROOTS = {
    "result": ["parts", "conclusion", "verdict", "objectives", "figures", "summary", "fleet"],
    "sweep": ["settings", "end", "figures", "runs"],
    "capacity": ["part", "settings", "trials", "found"],
    "comparison": ["method", "base", "against", "outcome"],
    "tls-lab": ["settings", "variants"],
}
"""For each document, the fields whose types become classes. Definitions of an earlier one are taken from there."""

BY_HAND = {
    "Classes": "_timing",
    "DurationMoments": "_timing",
    "Timing": "_timing",
    "Reason": "_verdict",
    # Runs of a sweep have whole results within them.
    "Run": None,
    "Document": None,
}
"""Definitions that are no generated classes, with the module that has them."""

METHODS = {
    "Group": "GroupMethods",
    "Interval": "IntervalMethods",
    "Series": "SeriesMethods",
    "Summary": "SummaryMethods",
}
"""Classes that inherit methods from `_methods`: definitions of the result."""

RENAMED = {"Step3": "Step"}
"""Definitions whose schema gives them a number, as the plan has others of that name."""

WIDTH = 120

Schema = dict[str, Any]


def main() -> None:
    """Writes the modules, or compares them with what they should be."""
    modules = dict(generated(schemas()))
    if sys.argv[1:] == ["--check"]:
        stale = [name for name, text in modules.items() if not _is_up_to_date(name, text)]
        if stale:
            sys.exit(f"not up to date: {', '.join(stale)}\nhint: run python/generate.py")
        return
    FOLDER.mkdir(exist_ok=True)
    for name, text in modules.items():
        (FOLDER / name).write_text(text)


def _is_up_to_date(name: str, text: str) -> bool:
    file = FOLDER / name
    return file.exists() and file.read_text() == text


def schemas() -> dict[str, Schema]:
    """Schemas of the documents, as the program prints them."""
    program = os.environ.get("HTTPERF", "httperf")
    return {
        name: json.loads(subprocess.run([program, "schema", name], check=True, capture_output=True).stdout)
        for name in ROOTS
    }


def generated(schemas: dict[str, Schema]) -> Iterator[tuple[str, str]]:
    """Names and texts of the modules."""
    yield "__init__.py", f'{HEADER}"""Records that documents consist of, by the kind of document."""\n'
    known: dict[str, tuple[str, Schema]] = {}
    for name, schema in schemas.items():
        module = name.replace("-", "_")
        yield f"{module}.py", _Module(module, schema, ROOTS[name], known).text()


HEADER = "# Written by generate.py from the schemas of the program (`httperf schema`). Do not edit.\n"


class _Module:
    """A module with the classes of one kind of document."""

    def __init__(self, name: str, schema: Schema, roots: list[str], known: dict[str, tuple[str, Schema]]) -> None:
        self.name = name
        self.definitions: dict[str, Schema] = schema["$defs"]
        # Those of earlier modules, with their definitions.
        self.known = known
        self.imports: dict[str, set[str]] = {}
        self.needs_default = False
        self.roots = [schema["properties"][root] for root in roots]

    def text(self) -> str:
        names = self._order()
        public = sorted(RENAMED.get(name, name) for name in names)
        bodies = [self._definition(name) for name in names]
        for name in names:
            self.known.setdefault(name, (self.name, self.definitions[name]))
        title = self.name.replace("_", "-").replace("tls-lab", "comparison of TLS variants")
        head = [
            f'{HEADER}"""Records of the document of a {title}."""',
            "from __future__ import annotations",
            self._imports(bodies),
            f"__all__ = [\n{''.join(f'    {json.dumps(name)},{chr(10)}' for name in public)}]",
        ]
        return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(bodies) + "\n"

    def _imports(self, bodies: list[str]) -> str:
        code = "\n".join(bodies)
        standard = ["from dataclasses import dataclass" + (", field" if " field(" in code else "")]
        typing = [name for name in ("Any", "Literal", "TypeAlias") if re.search(rf"\b{name}\b", code)]
        if typing:
            standard.append(f"from typing import {', '.join(typing)}")
        if self.needs_default:
            self.imports.setdefault(".._read", set()).add("default")
        ours = [f"from {module} import {', '.join(sorted(self.imports[module]))}" for module in sorted(self.imports)]
        return "\n".join(standard) + ("\n\n" + "\n".join(ours) if ours else "")

    def _order(self) -> list[str]:
        """Definitions that become classes of this module, each behind those that it needs."""
        order: list[str] = []

        def visit(schema: Any) -> None:
            for name in _references(schema):
                if name in order or self._is_elsewhere(name):
                    continue
                visit(self.definitions[name])
                order.append(name)

        # A run of a sweep is written by hand; what it needs beside the result is not.
        run = dict(self.definitions.get("Run", {}).get("properties", {}))
        run.pop("result", None)
        visit([self.roots, run])
        return order

    def _is_elsewhere(self, name: str) -> bool:
        if name in BY_HAND:
            module = BY_HAND[name]
            if module is not None:
                self.imports.setdefault(f"..{module}", set())
            return True
        return name in self.known and self.known[name][1] == self.definitions[name]

    def _definition(self, name: str) -> str:
        schema = self.definitions[name]
        if "oneOf" in schema:
            return self._union(name, schema)
        if schema.get("type") == "object" and "properties" in schema:
            return self._dataclass(name, schema, schema["properties"], set(schema.get("required", [])))
        return self._alias(name, self._type(schema), schema)

    def _union(self, name: str, schema: Schema) -> str:
        variants = schema["oneOf"]
        words = [variant.get("const") for variant in variants]
        if all(words):
            return self._alias(name, f"Literal[{', '.join(map(json.dumps, words))}]", schema)
        tag = _common_tag(variants)
        if tag is None:
            # A word, or an object whose only key is the word.
            return self._alias(name, "str | dict[str, Any]", schema)
        words = [variant["properties"][tag]["const"] for variant in variants]
        properties = {key: value for variant in variants for key, value in variant["properties"].items()}
        properties[tag] = {"description": "Which of them it is.", "enum": words}
        return self._dataclass(name, schema, properties, {tag})

    def _alias(self, name: str, kind: str, schema: Schema) -> str:
        return f"{name}: TypeAlias = {_wrapped_list(kind)}\n{_docstring(schema, '')}"

    def _dataclass(self, name: str, schema: Schema, properties: Schema, required: set[str]) -> str:
        bases = ""
        if name in METHODS and self.name == "result":
            bases = f"({METHODS[name]})"
            self.imports.setdefault(".._methods", set()).add(METHODS[name])
        lines = [
            "@dataclass(frozen=True, kw_only=True)",
            f"class {RENAMED.get(name, name)}{bases}:",
            _docstring(schema, "    "),
        ]
        for key, value in properties.items():
            lines.append(self._field(key, value, key in required))
        return "\n".join([*lines[:3], "", *lines[3:]])

    def _field(self, key: str, schema: Schema, is_required: bool) -> str:
        name = _identifier(key)
        kind = self._type(schema)
        if not is_required and "default" not in schema and not kind.endswith("| None"):
            kind += " | None"
        arguments = []
        if "default" in schema:
            arguments.append(self._default(kind, schema["default"]))
        elif not is_required:
            arguments.append("default=None")
        if name != key:
            arguments.append(f'metadata={{"json": {json.dumps(key)}}}')
        line = f"    {name}: {kind}"
        if len(arguments) == 1 and arguments[0].startswith("default="):
            line += f" = {arguments[0].removeprefix('default=')}"
        elif arguments:
            line += f" = field({', '.join(arguments)})"
        return f"{_wrapped_list(line)}\n{_docstring(schema, '    ')}".rstrip()

    def _default(self, kind: str, value: Any) -> str:
        if value is None or isinstance(value, (bool, int, float, str)):
            return f"default={value!r}"
        if value == []:
            return "default=()"
        if value == {}:
            return "default_factory=dict"
        self.needs_default = True
        return f"default_factory=default({kind}, {value!r})"

    def _type(self, schema: Schema) -> str:
        if "$ref" in schema:
            return self._name_of(schema["$ref"].rpartition("/")[2])
        if "enum" in schema:
            return f"Literal[{', '.join(map(json.dumps, schema['enum']))}]"
        if "anyOf" in schema:
            kinds = [self._type(variant) for variant in schema["anyOf"]]
            return " | ".join(kinds)
        kind = schema.get("type", "any")
        if isinstance(kind, list):
            (inner,) = (each for each in kind if each != "null")
            return f"{self._type({**schema, 'type': inner})} | None"
        if kind == "array":
            if "prefixItems" in schema:
                return f"tuple[{', '.join(map(self._type, schema['prefixItems']))}]"
            return f"tuple[{self._type(schema['items'])}, ...]"
        if kind == "object":
            values = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties") or {}]
            return f"dict[str, {self._type(values[0])}]"
        scalars = {
            "string": "str",
            "integer": "int",
            "number": "float",
            "boolean": "bool",
            "null": "None",
            "any": "Any",
        }
        return scalars[kind]

    def _name_of(self, name: str) -> str:
        module = BY_HAND.get(name)
        if module is not None:
            self.imports.setdefault(f"..{module}", set()).add(name)
        elif self._is_elsewhere(name):
            self.imports.setdefault(f".{self.known[name][0]}", set()).add(name)
        return RENAMED.get(name, name)


def _references(schema: Any) -> Iterator[str]:
    """Names of the definitions that a schema refers to, in its order."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _common_tag(variants: list[Schema]) -> str | None:
    """The property that tells the variants apart, if all are objects that have it."""
    tags = [
        {key for key, value in variant.get("properties", {}).items() if isinstance(value, dict) and "const" in value}
        for variant in variants
    ]
    common = set.intersection(*tags)
    return min(common) if common else None


def _identifier(key: str) -> str:
    name = re.sub(r"\W", "_", key)
    return f"{name}_" if keyword.iskeyword(name) else name


def _docstring(schema: Schema, indent: str) -> str:
    text = schema.get("description")
    if text is None:
        return ""
    # Links of Rust's documentation are names here.
    text = re.sub(r"\[(`[^`]+`)\]", r"\1", text).replace('"""', "'''")
    paragraphs = [
        textwrap.fill(" ".join(paragraph.split()), WIDTH - len(indent) - 6, break_on_hyphens=False)
        for paragraph in text.split("\n\n")
    ]
    body = "\n\n".join(paragraphs)
    quoted = f'"""{body}"""' if "\n" not in body else f'"""{body}\n"""'
    return textwrap.indent(quoted, indent)


def _wrapped_list(line: str) -> str:
    """Breaks the words of a long literal over lines."""
    if len(line) <= WIDTH or "Literal[" not in line:
        return line
    before, words = line.split("Literal[", 1)
    words, after = words.split("]", 1)
    indent = " " * (len(before) - len(before.lstrip()))
    listed = "".join(f"{indent}    {word.strip()},\n" for word in words.split(", "))
    return f"{before}Literal[\n{listed}{indent}]{after}"


if __name__ == "__main__":
    main()
