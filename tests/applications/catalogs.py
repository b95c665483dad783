"""Compiles the translations that a package brings only as text.

    catalogs.py PACKAGE...
"""

import sys

from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po

from sources import folder

for package in sys.argv[1:]:
    for file in sorted(folder(package).rglob("*.po")):
        home = file.parent if file.parent.name == "LC_MESSAGES" else file.parent / "LC_MESSAGES"
        made = home / f"{file.stem}.mo"
        if not made.exists():
            home.mkdir(exist_ok=True)
            try:
                with file.open("rb") as source, made.open("wb") as target:
                    write_mo(target, read_po(source, ignore_obsolete=True))
            except (PoFileError, ValueError) as error:
                made.unlink()
                print(f"left out: {file}: {error}", file=sys.stderr)
