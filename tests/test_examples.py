"""Property tests see the same examples whatever ran before them, and wherever the project lies."""

import os
import subprocess
import sys

from tests.support.root import ROOT

SCRIPT = """
import sys
for name in sys.argv[1:]:
    __import__(name)
import tests.conftest
from hypothesis import given, settings, strategies as st

seen = []

@settings(max_examples=200)
@given(st.floats(0, 100), st.integers(0, 10**6), st.text(max_size=20))
def look(x, k, text):
    seen.append((x, k, text))

look()
print(ascii(seen))
"""


def test_examples_do_not_depend_on_what_is_loaded(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    plain, laden = (
        subprocess.run(
            [sys.executable, script, *loaded], env=env, capture_output=True, text=True, check=True
        ).stdout
        for loaded in ([], ["extremal.model.regions", "extremal.model.reading"])
    )
    assert plain.count("(") >= 200
    assert plain == laden
