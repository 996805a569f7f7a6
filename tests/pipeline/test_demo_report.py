"""The README's first command ends with Spark's page about what it has shown."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.cli.commands import start

#: Java starts, and looks at a small journal; a busy machine takes its time.
_PATIENCE_SECONDS = 240.0


@pytest.mark.spark
def test_the_demo_writes_its_page(tmp_path: Path) -> None:
    """And says where it lies; all five protocols are in it."""
    child = start("demo", "--seconds", "6", "--journal", str(tmp_path))
    output, errors = child.communicate(timeout=_PATIENCE_SECONDS)
    assert child.returncode == 0, errors.decode()
    told = re.search(r"What happened on the bus: (file:\S+)", output.decode())
    assert told is not None, output.decode()
    page = Path(unquote(urlsplit(told[1]).path)).read_text(encoding="utf-8")
    for protocol in ("fmqp", "umq", "micromsg2", "emqp", "mtl"):
        assert f"<td>{protocol}</td>" in page, f"nothing of {protocol}"
    assert "Jobs</h2>" in page
