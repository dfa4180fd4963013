"""CPU seconds of `Modeler.regret_bound` among 10^6 rows after 50 answers; one thread. Target: under 1 s.

The next choice needs the fit and the posterior of all rows as well. Once they are there, the bound takes
its passes over the rows alone: the least of five calls.

    python benchmarks/regret_bound_time.py
"""

from __future__ import annotations

import warnings

import torch
from speed.measure import cpu_seconds

from botorch_private import Above, Maximize, Modeler, NoisyProjection, PublicScaling, Target, TopK
from botorch_private.curator.publish import publish

ROWS, FEATURES, ANSWERS, TIMES = 1_000_000, 6, 50, 5
GOALS = (Maximize(), TopK(5), Target(2.0), Above(2.5))


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    records = torch.rand(ROWS, FEATURES, dtype=torch.float64, generator=generator)
    scaling = PublicScaling([0.0] * FEATURES, [1.0] * FEATURES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the seed
        published = publish(records, scaling, NoisyProjection(3.0, 1e-5, None), generator=generator)
    answers = (3 * records[:, 0]).sin() + records[:, 1] + records[:, 2] * records[:, 3]
    answers += 0.3 * torch.randn(ROWS, dtype=torch.float64, generator=generator)
    chosen = torch.randperm(ROWS, generator=generator)[:ANSWERS].tolist()
    rows = published.permutation[chosen]
    history = [(row, float(answers[record])) for row, record in zip(chosen, rows, strict=True)]
    print("| goal | fit, posterior and choice | the bound beside | bound |\n| --- | --- | --- | --- |")
    for goal in GOALS:
        modeler = Modeler(published.release, goal=goal, history=history)
        before = cpu_seconds(modeler.ask)
        alone = min(cpu_seconds(modeler.regret_bound) for _ in range(TIMES))
        print(f"| {goal} | {before:.2f} s | {alone:.2f} s | {modeler.regret_bound():.3g} |")
    gain = Modeler(published.release, history=history)
    gain.ask()
    print(f"\nexpected_gain: {min(cpu_seconds(gain.expected_gain) for _ in range(TIMES)):.2f} s")


if __name__ == "__main__":
    main()
