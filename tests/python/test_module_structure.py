"""How the Python modules hang together: no circles, no access to private names, no twins."""

from __future__ import annotations

import ast
import keyword
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "allemande"
COMPILED = "allemande._core"
STUDY = "allemande.study"
DUNDER = re.compile(r"__\w+__")
DOCUMENTED = {"allemande.model.samples"}  # docs/profile.md: for programs of users
ENTRY_POINTS = {"main", "command"}
PUBLIC_ALL_THE_SAME = {"os._exit"}  # documented by Python


@dataclass(frozen=True)
class Module:
    name: str  # "allemande.lab.network"; of a package without ".__init__"
    tree: ast.Module
    is_package: bool = False

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]


@dataclass
class Imports:
    """What one module has of others."""

    modules: set[str] = field(default_factory=set)
    names: list[tuple[int, str, str]] = field(default_factory=list)  # line, module, name
    aliases: dict[str, str] = field(default_factory=dict)  # local name -> module


def parse(text: str, name: str, is_package: bool = False) -> Module:
    return Module(name, ast.parse(text), is_package)


def read_modules() -> dict[str, Module]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found[name] = parse(path.read_text(encoding="utf-8"), name, is_package)
    return found


def read_users(*folders: str) -> list[Module]:
    """Tests and tools, unless told otherwise."""
    names = folders or ("tests", "tools")
    paths = [path for name in names for path in sorted((ROOT / name).rglob("*.py"))]
    return [parse(path.read_text(encoding="utf-8"), path.stem) for path in paths]


def imports_of(module: Module, known: Mapping[str, object]) -> Imports:
    """All imports, wherever they stand: at the top, in functions, for type checkers alone."""
    found = Imports()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in known:
                    found.modules.add(alias.name)
                    found.aliases[alias.asname or alias.name] = alias.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *filter(None, [base])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                if whole in known:
                    found.modules.add(whole)
                    found.aliases[alias.asname or alias.name] = whole
                elif base in known:
                    found.modules.add(base)
                    found.names.append((node.lineno, base, alias.name))
    found.modules.discard(module.name)
    return found


def cycle_in(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        return cycle
    return []


def package_of(module: Module) -> str:
    """Its folder. Modules beside the packages are used one by one: each is its own."""
    return module.name if module.package == PACKAGE.name else module.package


def circle_of_packages(modules: Mapping[str, Module]) -> list[str]:
    """A line for each arrow of the circle, with an import that makes it."""
    known = {**modules, COMPILED: None}
    arrows: dict[str, dict[str, str]] = {}
    for name, module in modules.items():
        own = package_of(module)
        for used in sorted(imports_of(module, known).modules - {COMPILED}):
            other = package_of(modules[used])
            if other != own:
                arrows.setdefault(own, {}).setdefault(other, f"{name} imports {used}")
    # The sorter names what is used before what uses it.
    circle = cycle_in({own: set(others) for own, others in arrows.items()})[::-1]
    return [f"{own} -> {other}: {arrows[own][other]}" for own, other in pairwise(circle)]


def is_private(name: str) -> bool:
    return name.startswith("_") and not DUNDER.fullmatch(name)


def accesses(module: Module) -> Iterator[tuple[int, str, str]]:
    """Line, owner and name of each `owner.name` and of each `….setattr(owner, "name", …)`."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, ast.unparse(node.value), node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            match node.args:
                case [owner, ast.Constant(value=str(name)), *_]:
                    yield node.lineno, ast.unparse(owner), name


def foreign_private_names(module: Module, known: Mapping[str, object]) -> Iterator[str]:
    imports = imports_of(module, known)
    for line, base, name in imports.names:
        if is_private(name):
            yield f"{module.name}:{line}: imports {base}.{name}"
    own = own_members(module)
    for line, owner, name in accesses(module):
        whole = f"{owner}.{name}"
        if not is_private(name) or whole in PUBLIC_ALL_THE_SAME or whole in known:
            continue
        if owner in ("self", "cls") or (owner not in imports.aliases and name in own):
            continue
        yield f"{module.name}:{line}: uses {whole}"


def own_members(module: Module) -> set[str]:
    """Names of methods and attributes that this module's classes have."""
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls"):
            found.add(node.attr)
    return found


def users_elsewhere(
    modules: Mapping[str, Module], users: Iterable[Module] = ()
) -> dict[str, set[str]]:
    """By module, the names of it that other modules or `users` use."""
    used: dict[str, set[str]] = defaultdict(set)
    for module in [*modules.values(), *users]:
        imports = imports_of(module, modules)
        for _, base, name in imports.names:
            used[base].add(name)
        for _, owner, name in accesses(module):
            used[imports.aliases.get(owner, "")].add(name)
    return used


def public_functions(module: Module) -> Iterator[str]:
    """Without those that are called from outside: entry points, and what a decorator takes."""
    for node in module.tree.body:
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        if not node.name.startswith("_") and node.name not in ENTRY_POINTS:
            yield node.name


def members_used_by_others(modules: Iterable[Module]) -> set[str]:
    """Attributes of anything but `self`, and names given as texts."""
    found = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls"):
                found.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def names_read_in(module: Module) -> set[str]:
    return {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}


def own_members_read_in(module: Module) -> set[str]:
    return {node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute)}


def public_methods(module: Module) -> Iterator[str]:
    """Methods of classes without a base class whose methods they might replace."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and not node.bases:
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield member.name


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    return read_modules()


def test_modules_import_each_other_without_cycles(modules: dict[str, Module]) -> None:
    known = {**modules, COMPILED: None}
    graph = {name: imports_of(module, known).modules for name, module in modules.items()}
    assert sum(len(edges) for edges in graph.values()) > 100
    assert cycle_in(graph) == []


def test_a_cycle_through_a_late_import_is_found() -> None:
    known = {
        "p": parse("", "p", is_package=True),
        "p.a": parse("from p.b import f", "p.a"),
        "p.b": parse("def f():\n    from . import a", "p.b"),
    }
    graph = {name: imports_of(module, known).modules for name, module in known.items()}
    assert sorted(set(cycle_in(graph))) == ["p.a", "p.b"]


def test_a_cycle_for_type_checkers_alone_is_found() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.a"
    known = {"p.a": parse("from p import b", "p.a"), "p.b": parse(text, "p.b")}
    graph = {name: imports_of(module, known).modules for name, module in known.items()}
    assert sorted(set(cycle_in(graph))) == ["p.a", "p.b"]


def test_packages_use_each_other_without_circles(modules: dict[str, Module]) -> None:
    assert circle_of_packages(modules) == []


def test_a_circle_of_packages_is_named_with_the_imports_that_make_it() -> None:
    texts = {
        "allemande.low.a": "",
        "allemande.low.b": "from allemande.high import c",
        "allemande.high.c": "from allemande import between",
        "allemande.between": "import allemande.low.a",
    }
    modules = {name: parse(text, name) for name, text in texts.items()}
    assert cycle_in({name: imports_of(one, modules).modules for name, one in modules.items()}) == []
    assert sorted(circle_of_packages(modules)) == [
        "allemande.between -> allemande.low: allemande.between imports allemande.low.a",
        "allemande.high -> allemande.between: allemande.high.c imports allemande.between",
        "allemande.low -> allemande.high: allemande.low.b imports allemande.high.c",
    ]


def test_nothing_else_uses_what_the_wheel_leaves_out(modules: dict[str, Module]) -> None:
    wrong = [
        f"{name} imports {used}"
        for name, module in modules.items()
        if module.package != STUDY
        for used in imports_of(module, modules).modules
        if used.startswith(STUDY)
    ]
    assert wrong == []


def test_programs_behind_make_targets_end_as_the_command_does(modules: dict[str, Module]) -> None:
    """With a message instead of a traceback, and cleaned up: see allemande.entry."""
    programs = {
        name: ast.unparse(module.tree.body[-1])
        for name, module in modules.items()
        if name.startswith(STUDY) and "__main__" in ast.unparse(module.tree)
    }
    assert len(programs) >= 7
    assert [name for name, end in programs.items() if "sys.exit(run_command(" not in end] == []


def test_only_the_command_itself_imports_command_modules(modules: dict[str, Module]) -> None:
    """Commands parse options and call; nothing else needs them."""
    wrong = [
        f"{name} imports {used}"
        for name, module in modules.items()
        if not name.startswith("allemande.cli") and name != "allemande.__main__"
        for used in imports_of(module, modules).modules
        if used.startswith("allemande.cli")
    ]
    assert wrong == []


def test_no_two_modules_share_a_file_name(modules: dict[str, Module]) -> None:
    """A command's module may be called as what it fronts."""
    by_stem = defaultdict(list)
    for name, module in modules.items():
        if not module.is_package and not name.startswith("allemande.cli."):
            by_stem[name.rpartition(".")[2]].append(name)
    assert [names for names in by_stem.values() if len(names) > 1] == []


def test_private_names_are_used_in_their_module_alone(modules: dict[str, Module]) -> None:
    known = {**modules, COMPILED: None}
    everything = [*modules.values(), *read_users()]
    assert [wrong for one in everything for wrong in foreign_private_names(one, known)] == []


def test_functions_for_their_module_alone_are_marked_private(modules: dict[str, Module]) -> None:
    used = users_elsewhere(modules, read_users())
    wrong = [
        f"{name}.{function}"
        for name, module in modules.items()
        for function in public_functions(module)
        if function not in used[name]
    ]
    assert wrong == []


def test_methods_for_their_class_alone_are_marked_private(modules: dict[str, Module]) -> None:
    used = members_used_by_others([*modules.values(), *read_users()])
    wrong = [
        f"{name}: {method}"
        for name, module in modules.items()
        for method in public_methods(module)
        if method not in used
    ]
    assert wrong == []


def test_nothing_is_there_for_tests_alone(modules: dict[str, Module]) -> None:
    used = users_elsewhere(modules, read_users("tools"))
    members = members_used_by_others(modules.values())
    wrong = [
        f"{name}.{function}"
        for name, module in modules.items()
        if name not in DOCUMENTED
        for function in public_functions(module)
        if function not in used[name] | names_read_in(module)
    ]
    wrong += [
        f"{name}: {method}"
        for name, module in modules.items()
        for method in public_methods(module)
        if method not in members | own_members_read_in(module)
    ]
    assert wrong == []


def test_no_member_ends_with_an_underscore(modules: dict[str, Module]) -> None:
    """The mark of private members stands in front. Names that Python keeps for itself may."""
    wrong = [
        f"{name}:{node.lineno}: {node.attr}"
        for name, module in modules.items()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and re.fullmatch(r"[a-z]\w*[a-z]_", node.attr)
        and not keyword.iskeyword(node.attr[:-1])
        and ast.unparse(node.value) == "self"
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "from p.b import _f",
        "from p import b\nb._f()",
        "def f(x):\n    return x._f",
        "import p.b\nmonkeypatch.setattr(p.b, '_f', None)",
    ],
)
def test_a_private_name_of_another_module_is_found(text: str) -> None:
    known = {"p.a": parse(text, "p.a"), "p.b": parse("def _f(): ...", "p.b")}
    (wrong,) = foreign_private_names(known["p.a"], known)
    assert "_f" in wrong
