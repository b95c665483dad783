"""Where the parts of an application are, and the texts that it has in its code."""

import ast
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

# Packages that are only unpacked: archives of sources, and packages of Debian.
UNPACKED = Path(os.environ.get("APPLICATIONS_SOURCES", "/nonexistent"))


def folder(name):
    """A folder of a package, without loading the package."""
    package, _, rest = name.partition("/")
    if (UNPACKED / package).is_dir():
        return UNPACKED / name
    return Path(importlib.util.find_spec(package).submodule_search_locations[0]) / rest


@cache
def constants(file):
    tree = ast.parse(folder(file).read_text(encoding="utf-8"))
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def text(file, start):
    """The text in a module of Python that begins with these words. The module is only read,
    because it needs the whole application."""
    return next(value for value in constants(file) if value.lstrip().startswith(start))


def each_present(renderers):
    """Renders the applications whose package is there. Without apt-get there is none of Debian."""
    for name, render in renderers.items():
        if (UNPACKED / name).is_dir():
            render()
        else:
            print(f"left out: {name}: there is no package of Debian", file=sys.stderr)
