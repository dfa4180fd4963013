"""A report without records cannot read any: the code that makes it does not know them."""

import subprocess
import sys

import pytest
from grimp import build_graph
from helpers.report_samples import make_release

GRAPH = build_graph("botorch_private", cache_dir=None)
PUBLIC = ["facts", "attacker", "document", "shown", "plot", "html", "text"]
CURATOR = ["curator", "datasets"]


@pytest.mark.parametrize("module", PUBLIC)
def test_public_facts_and_layouts_know_neither_records_nor_scalings(module):
    reached = GRAPH.find_upstream_modules(f"botorch_private.report.{module}")
    for forbidden in CURATOR:
        inside = {name for name in reached if name.startswith(f"botorch_private.{forbidden}")}
        assert not inside, (module, inside)
    assert "botorch_private" not in reached  # it offers everything
    assert "botorch_private.report.table_facts" not in reached


def test_the_attack_takes_a_release_and_no_table():
    """The audit's package has attacks for curators, too: the report's own code must not call them."""
    direct = GRAPH.find_modules_directly_imported_by("botorch_private.report.audit_facts")
    curator = {name for name in direct if name.startswith("botorch_private.curator")}
    drawing = ("botorch_private.curator.mechanisms", "botorch_private.curator.cells.cell")
    assert all(name.startswith(drawing) for name in curator)
    attributes = vars(__import__("botorch_private.report.audit_facts", fromlist=["audit"]))
    assert "one_run_audit" not in attributes
    assert "known_sample_attack" not in attributes


def test_a_report_is_made_where_the_curators_modules_are_missing(tmp_path):
    path = tmp_path / "r.safetensors"
    make_release("laplace").save(path)
    code = (
        "import sys\n"
        "for name in ('curator.features.tables', 'curator.features.ranges', 'curator.ledger',\n"
        "             'report.table_facts', 'report.spent'):\n"
        "    sys.modules[f'botorch_private.{name}'] = None\n"
        "from botorch_private.cli.main import main\n"
        f"sys.exit(main(['report', {str(path)!r}, '--text', '--trials', '100']))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "HOLDS" in done.stdout
