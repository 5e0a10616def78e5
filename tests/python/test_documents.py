"""The documents: lines are short, links and citations resolve."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.python.document_files import DOCUMENTS, ROOT, every_document, name_of, split

from allemande.option_table import OPTIONS

# Where the design and the references are cited.
CITING = ("src", "include", "python", "tests", "tools", "bench", "clusters", "examples", "cmake")
CITING_SUFFIXES = {
    ".h",
    ".cc",
    ".c",
    ".py",
    ".def",
    ".toml",
    ".f90",
    ".cmake",
    ".txt",
    ".sh",
    ".in",
}

COLUMNS = 100
CELL_COLUMNS = 120  # of a table's cell, without the targets of links


# ---- lines ---------------------------------------------------------------------------------------


@every_document
def test_lines_fit_the_columns(path: Path) -> None:
    long = [
        f"{name_of(path)}:{number}: {len(line)} columns"
        for number, line in split(path)[1]
        if len(line) > COLUMNS
        and not line.lstrip().startswith(("|", "!["))
        and " " in line.strip().removeprefix("- ")  # else one link, which cannot be wrapped
    ]
    assert not long, "\n".join(long)


@every_document
def test_no_table_cell_holds_a_paragraph(path: Path) -> None:
    long = []
    for number, line in split(path)[1]:
        if not line.startswith("|"):
            continue
        row = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.replace(r"\|", "/"))
        long += [
            f"{name_of(path)}:{number}: a cell of {len(cell.strip())} columns"
            for cell in row.split("|")
            if len(cell.strip()) > CELL_COLUMNS
        ]
    assert not long, "\n".join(long)


# ---- links and citations -------------------------------------------------------------------------


@cache
def anchors(path: Path) -> set[str]:
    """What headings are called in links, as GitHub makes it."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for _, line in split(path)[1]:
        heading = re.match(r"#+\s+(.*)", line)
        if heading is None:
            continue
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading.group(1)).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found.add(slug if seen[slug] == 0 else f"{slug}-{seen[slug]}")
        seen[slug] += 1
    return found


@every_document
def test_relative_links_resolve(path: Path) -> None:
    text = "\n".join(line for _, line in split(path)[1])
    text = re.sub(r"`[^`]*`", "", text)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        if not linked.exists():
            broken.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(linked):
            broken.append(f"{target}: no such heading")
    assert not broken, f"{name_of(path)}: " + "; ".join(broken)


def citing_texts() -> Iterator[tuple[str, str]]:
    """Every text that may cite, comments unwrapped into single lines."""
    files = [
        Path(folder) / file
        for top in CITING
        for folder, _, names in os.walk(ROOT / top)
        for file in names
        if Path(file).suffix in CITING_SUFFIXES
    ]
    for file in [*files, *DOCUMENTS]:
        text = file.read_text(encoding="utf-8", errors="replace")
        yield name_of(file), re.sub(r"\s*\n\s*(?:///?|#|\*)?\s*", " ", text)


@cache
def citations() -> list[tuple[str, str]]:
    return list(citing_texts())


@pytest.mark.parametrize(
    ("word", "document"), [("design", "docs/design.md"), ("reference", "docs/references.md")]
)
def test_cited_sections_exist(word: str, document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    sections = set(re.findall(r"^## (\d+)\. ", text, re.MULTILINE))
    named = set(re.findall(r"^### (\w+)|\*\*(\w+)\.\*\*", text, re.MULTILINE))
    names = {one or other for one, other in named}
    cited = 0
    for file, content in citations():
        for section, name in re.findall(rf"\b{word} section (\d+)(?:, ([A-Z]\w+))?", content):
            cited += 1
            assert section in sections, f"{file} cites {word} section {section}"
            assert not name or name in names, f"{file} cites {word} section {section}, {name}"
    assert cited > 3  # else the pattern no longer finds what is there


def test_cited_papers_are_listed() -> None:
    listed = set(re.findall(r"\*\*(00\d)\*\*", (ROOT / "docs/references.md").read_text()))
    cited = 0
    for file, content in citations():
        for paper in re.findall(r"\b(00\d) (?:Eq|Alg|Fig|Table|section)", content):
            cited += 1
            assert paper in listed, f"{file} cites {paper}"
    assert cited > 20


def test_cited_rfcs_are_listed() -> None:
    listed = set(re.findall(r"\bRFC (\d{4})\b", (ROOT / "docs/references.md").read_text()))
    for file, content in citations():
        for number in re.findall(r"\bRFC (\d{4})\b", content):
            assert number in listed, f"{file} cites RFC {number}"


def test_cited_documents_exist() -> None:
    for file, content in citations():
        for document in re.findall(r"\bdocs/[\w./-]*\.md\b", content):
            assert (ROOT / document).exists(), f"{file} names {document}"


def test_every_decision_is_in_the_index() -> None:
    index = (ROOT / "docs/adr/README.md").read_text(encoding="utf-8")
    for record in sorted((ROOT / "docs/adr").glob("0*.md")):
        heading = record.read_text(encoding="utf-8").splitlines()[0]
        title = re.sub(r"^# (0*)(\d+)[.:] ", "", heading)
        number = int(record.name[:4])
        assert f"| [{number}]({record.name}) | {title} |" in index
        assert "Status: " in record.read_text(encoding="utf-8"), f"{record.name} has no status"


RECORDS = sorted((ROOT / "docs/adr").glob("0*.md"))
every_record = pytest.mark.parametrize("path", RECORDS, ids=name_of)
RECORD_LINES = 60


@every_record
def test_decisions_have_one_form(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    head, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    assert re.search(r"^- Date: \d{4}-\d\d-\d\d$", head, re.MULTILINE)
    assert re.search(r"^- Status: ", head, re.MULTILINE)
    names = [section.splitlines()[0] for section in sections]
    assert names == ["Context", "Decision", "Consequences"]
    assert len(text.splitlines()) <= RECORD_LINES


def relations(path: Path) -> Iterator[tuple[str, str]]:
    """What the head says of other records, and which one."""
    head = path.read_text(encoding="utf-8").split("\n## ")[0]
    for entry in re.split(r"^- ", head, flags=re.MULTILINE):
        for target in re.findall(r"\]\((0\d+-[\w-]+\.md)\)", entry):
            yield entry.partition(":")[0], target


@every_record
def test_changes_of_decisions_are_named_in_both(path: Path) -> None:
    back = {
        "Changed by": "Changes",
        "Changes": "Changed by",
        "Replaced by": "Replaces",
        "Replaces": "Replaced by",
    }
    for relation, target in relations(path):
        if relation in back:
            assert (back[relation], path.name) in set(relations(path.parent / target))


def test_measurements_say_when_and_where() -> None:
    for page in (ROOT / "docs/measurements").glob("0*.md"):
        assert (ROOT / "docs/adr" / page.name).exists()
        text = page.read_text(encoding="utf-8")
        for name in ("decision", "date", "machine", "command"):
            assert f"\n| {name} | " in text, f"{page.name} says no {name}"


def test_every_term_is_explained_once() -> None:
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = Counter(re.findall(r"^- \*\*([^*]+)\*\*:", text, re.MULTILINE))
    assert len(terms) > 50
    assert not [term for term, times in terms.items() if times > 1]


def test_documents_name_variables_that_exist() -> None:
    known = {option.variable for option in OPTIONS} | {"ALLEMANDE_CONFIG"}
    for path in DOCUMENTS:
        if path.name == "CHANGELOG.md":
            continue
        named = set(re.findall(r"\bALLEMANDE_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8")))
        assert named <= known, f"{name_of(path)}: {sorted(named - known)}"
