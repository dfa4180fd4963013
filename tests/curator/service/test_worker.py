"""A program that measures is read as a callable of a `Curator` is."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from botorch_private.curator.service.worker import FAILED, answer


@pytest.mark.parametrize("returned", [3, 3.0, np.float32(3), np.array([3.0]), torch.tensor([[3.0]])])
def test_one_number_of_any_kind_is_the_value(returned):
    assert answer(lambda record: returned, [1.0, 2.0]) == {"value": 3.0}


@pytest.mark.parametrize("returned", ["1.5", np.ones(2), None, float("inf"), [7]])
def test_anything_else_is_a_failure_that_does_not_say_what_it_was(returned):
    assert answer(lambda record: returned, [1.0, 2.0]) in (
        {"error": FAILED},
        {"error": "the objective must return a finite number, got another one"},
    )


def test_what_an_objective_raises_goes_where_its_output_goes_and_nowhere_else(capfd):
    def program(record):
        raise LookupError(f"no simulation of {record.tolist()}")

    assert answer(program, [1.0, 2.5]) == {"error": FAILED}
    assert "LookupError: no simulation of [1.0, 2.5]" in capfd.readouterr().err


def test_the_record_is_a_tensor_of_float64():
    def program(record):
        assert record.dtype == torch.float64
        return record.sum()

    assert answer(program, [1.0, 2.0]) == {"value": 3.0}


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_what_a_program_prints_fails_no_measurement_whatever_the_encoding_is(tmp_path, encoding):
    (tmp_path / "lab.py").write_text(
        "def measure(record):\n    print('Δ \\udcff 測定')\n    return float(record.sum())\n",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "botorch_private.curator.service.worker",
        "lab:measure",
    ]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    path = os.pathsep.join(each for each in sys.path if each)
    done = subprocess.run(
        command,
        input=b"[1.0, 2.0]\n",
        capture_output=True,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": path},
        check=True,
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"ready": True}, {"value": 3.0}]
    assert "Δ \\udcff 測定" in done.stderr.decode("utf-8")
