"""What made `run.json` and `expected.json`, with the code of commit e00b3d7; it runs with nothing later.

git worktree add ../old e00b3d7
PYTHONPATH=../old python tests/whole/made_before_2/make.py
"""

import json
import math
from pathlib import Path

import torch
from botorch_private.cli.optimize.state import RunState, Settings

from botorch_private import Modeler, Release

HERE = Path(__file__).parent


def main():
    release = Release.load(HERE.parent / "made_before" / "laplace.safetensors")
    settings = Settings(seed=7, n_initial=4, outcome_noise=0.2)
    generator = torch.Generator().manual_seed(settings.seed)
    modeler = Modeler(release, n_initial=4, outcome_noise=0.2, generator=generator)
    for _ in range(8):
        row = modeler.ask()
        modeler.tell(row, math.sin(row))
    modeler.skip(modeler.ask())
    modeler.ask(2)
    RunState.of(modeler, settings).save(HERE / "run.json")
    state = RunState.load(HERE / "run.json")
    again = state.modeler(release)
    for row in state.pending:
        again.tell(row, math.sin(row))
    expected = {**{name: getattr(state, name) for name in ("history", "pending", "skipped")}}
    expected["next"] = again.ask(3)
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
