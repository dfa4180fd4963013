"""Modeler: GP-UCB over the rows of a release, by ask and tell."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, overload

import torch
from botorch.models import ModelListGP, SingleTaskGP

from botorch_private._base import validate
from botorch_private._base.host_state import on_cpu_by_default
from botorch_private.exchange.goals import Goal, Maximize
from botorch_private.exchange.observation import Observation
from botorch_private.exchange.release import Release
from botorch_private.exchange.released_parts import ReleasedParts
from botorch_private.exchange.search_prior import SearchPrior
from botorch_private.modeler.acquisition.schedule import EXPLORATIONS, SHARED, THEORY
from botorch_private.modeler.denoised_release import DenoisedRelease
from botorch_private.modeler.findings import Findings
from botorch_private.modeler.goals import pursuit_of
from botorch_private.modeler.goals.pursuit import Exploring
from botorch_private.modeler.history import History
from botorch_private.modeler.models.build import check_label_options, make_model
from botorch_private.modeler.models.kernel import ReleasedInputKernel
from botorch_private.modeler.models.memory import DEFAULT_MEMORY, NOTHING_KEPT
from botorch_private.modeler.sharded.opening import opened, sharded
from botorch_private.modeler.sharded.sharded_posterior import ShardedPosterior, sharded_posterior
from botorch_private.modeler.state import SETTINGS, Draws, ModelerState, rows_of


class Modeler(Findings):
    """The party that optimizes without seeing the records.

    The first ``n_initial`` rows are chosen uniformly at random, the others by `DiscreteUCB` on a
    refitted `make_model`. A row is never asked twice, since a curator answers a repeat from memory.

    In a release of labels, rows of one label do not differ: a row of the label with the largest score is
    asked, at random.

    What is asked next depends on the release, the history and the generator's seed alone. A modeler
    that is built again from the history of an earlier one, with the same seed, goes on as that one
    would have. `save` and `load` keep all of it in a file.

    Outcomes are told, kept and shown in the curator's own unit and sign, whatever the goal. `model` and
    `posterior` have them as the goal turns them: with `Minimize`, minus the outcome.

    Args:
        release: What the curator released, in one piece or in parts.
        failure_probability: The paper's ``delta'`` in `ucb_beta`, in (0, 1).
        goal: What is looked for: `Maximize`, `Minimize`, `Above`, `TopK` or `Target`; where records have
            several outcomes, `Scalarized` or `Constrained`. None: the largest outcome.
        n_initial: Random rows before the model is used, >= 1.
        refit_every: Hyperparameters are refitted after so many observations; between refits the
            latest ones are kept.
        noise_aware: Whether the kernel accounts for the noise of the release.
        denoise: Whether to work on the rows of `DenoisedRelease`. It pays where noise is as wide as the
            data, or where features are many and related.
        beta: Overrides the schedule by a number >= 0.
        beta_scale: Factor of the theory's schedule, > 0, in all rounds. None: that of ``exploration``.
        exploration: ``"shared"``: by the deviation of the part that records share, with the theory's
            schedule for 10 rounds, warm-up apart, and a fifth of it afterwards. ``"theory"``: as the
            regret bounds ask. See `DiscreteUCB`. None: what was best in trials, the first for a release
            with noise, and the second for labels.
        outcome_noise: Rough share of the outcome's variance that no record explains, in (0, 1), as in
            `make_model`. None: BoTorch's prior, which expects almost none.
        ard: Whether each feature has a length-scale of its own: only for a release without rotation or
            projection, and without ``denoise``. It takes answers to learn them: not the default.
        prior: Length-scales and scatter to start from, as `choose_features` finds them in a history of
            other people. ``outcome_noise`` overrides its scatter.
        history: Observations to resume from, or values that were measured before, which count as rounds:
            a `History` (`History.from_csv` reads a file), pairs of row and value in the order in which
            they were told, or a data frame as `History.to_frame` makes it.
        pending: Rows that were asked and not told yet when the history was kept, in their order.
        skipped: Rows that were given up (`skip`) when the history was kept.
        generator: Makes the initial rows and ties reproducible. None: random.
        device: Where models live; None: the CPU.
        dtype: torch.float64, or torch.float32.
        max_memory: Bytes that the `DiscretePosterior` may keep between rounds; what does not fit is
            recomputed. 1 GiB by default: a million rows and 134 observations in float64. With
            ``engine="ray"``, in each of its processes.
        engine: "process": all rows are here. "ray": processes of a cluster hold the rows of a release in
            parts (`ReleasedParts`), and get O(t r) numbers a round; the same rows are asked. Of
            several outcomes they send O(n) numbers each.
        address: Of a Ray cluster that runs, such as "auto"; None: one is started on this machine.
        workers: Processes that hold rows; None: one a CPU.

    Example:
        >>> modeler = Modeler(release)
        >>> index = modeler.ask()
        >>> modeler.tell(index, 1.5)
        >>> modeler.best
        Observation(index=..., value=1.5)
    """

    @on_cpu_by_default
    def __init__(
        self,
        release: Release | ReleasedParts,
        failure_probability: float = 0.025,
        *,
        goal: Goal | None = None,
        n_initial: int = 5,
        refit_every: int = 1,
        noise_aware: bool = True,
        denoise: bool = False,
        beta: float | None = None,
        beta_scale: float | None = None,
        exploration: str | None = None,
        outcome_noise: float | None = None,
        ard: bool = False,
        prior: SearchPrior | None = None,
        history: History | Iterable[tuple[int, float]] | Any = (),
        pending: Iterable[int] = (),
        skipped: Iterable[int] = (),
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float64,
        max_memory: int = DEFAULT_MEMORY,
        engine: str = "process",
        address: str | None = None,
        workers: int | None = None,
    ) -> None:
        validate.probability(failure_probability=failure_probability)
        goal = Maximize() if goal is None else goal
        self.pursuit = pursuit_of(goal)
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"dtype must be torch.float64 or torch.float32, got {dtype}")
        release = opened(
            release,
            engine=engine,
            address=address,
            workers=workers,
            dtype=dtype,
            device=device,
            denoise=denoise,
        )
        goal.require(len(release.candidates))
        _require_outcomes(goal, release)
        validate.count(n_initial=n_initial, refit_every=refit_every, max_memory=max_memory)
        if beta is not None:
            validate.non_negative(beta=beta)
        if beta_scale is not None:
            validate.positive(beta_scale=beta_scale)
        if exploration is None:
            exploration = SHARED if release.cells is None else THEORY
        validate.one_of(EXPLORATIONS, exploration=exploration)
        self._exploring = Exploring(failure_probability, beta, beta_scale, exploration)
        if outcome_noise is not None:
            validate.probability(outcome_noise=outcome_noise)
        validate.flag(ard=ard)
        check_label_options(release, dtype=dtype, noise_aware=noise_aware, ard=ard, prior=prior)
        self.release, self.failure_probability, self.goal = release, failure_probability, goal
        self.n_initial = min(n_initial, len(release.candidates))
        self.refit_every, self.noise_aware, self.denoise = refit_every, noise_aware, denoise
        self.beta, self.beta_scale, self.exploration = beta, beta_scale, exploration
        self.outcome_noise, self.ard, self.prior = outcome_noise, ard, prior
        self.device, self.dtype, self.max_memory = device, dtype, max_memory
        validate.generator(generator=generator)
        if generator is None:
            generator = torch.Generator()
            generator.seed()
        self._draws = Draws.of(generator, len(release.candidates), self.n_initial)
        inputs = DenoisedRelease.of(release) if denoise else release
        if release.cells is None:
            ReleasedInputKernel.of(inputs, ard=ard, prior=prior)  # refuses what does not fit the release
        rows: Any = inputs.candidates
        self._candidates = rows if sharded(release) else rows.to(device=device, dtype=dtype)
        self._told: dict[int, Any] = {}
        self._pending: list[int] = []
        self._skipped: set[int] = set()
        self._posterior: Any = None
        make = partial(make_model, noise_aware=noise_aware, outcome_noise=outcome_noise)
        make = partial(make, ard=ard, prior=prior, device=device, dtype=dtype)
        self._make_fit = partial(self.pursuit.fit, make, inputs)
        self._fit = self._make_fit()
        for index, value in History(history, goal=goal):
            self.tell(index, value)
        for row in skipped:
            self.skip(row)
        asked = dict.fromkeys(validate.index(len(self._candidates), pending=row) for row in pending)
        self._pending = [row for row in asked if row not in self._told and row not in self._skipped]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that this modeler needs to go on: settings, history, pending and skipped rows.

        The file (JSON) appears whole or not at all, and only its owner can read it, since it holds
        outcomes. It knows the release by its SHA-256, which the first call computes in O(n r), and holds
        none of its rows.

        Args:
            path: File to write; one that is there is replaced.

        Raises:
            OSError: If it cannot be written.

        Example:
            >>> modeler = Modeler(release)
            >>> modeler.tell(modeler.ask(), 1.5)
            >>> modeler.save("search.json")
            >>> Modeler.load("search.json", release).ask() == modeler.ask()
            True
        """
        identity, rows = self._hashes
        ModelerState(
            release=identity,
            rows=rows,
            settings={name: getattr(self, name) for name in SETTINGS},
            history=[(row, value) for row, value in self._told.items()],
            pending=self.pending,
            skipped=self.skipped,
            draws=self._draws,
            seed=self._draws.generator_seed,
            goal=self.goal,
            fitted=self._fit.kept(self._observed()),
        ).save(Path(path))

    @classmethod
    @on_cpu_by_default
    def load(
        cls,
        path: str | os.PathLike[str],
        release: Release | ReleasedParts,
        *,
        device: torch.device | str | None = None,
        max_memory: int = DEFAULT_MEMORY,
        engine: str = "process",
        address: str | None = None,
        workers: int | None = None,
    ) -> Self:
        """Make the modeler that goes on as the one that was saved would have, with the same picks.

        Args:
            path: File of `save`, or the state that ``botorch-private optimize`` keeps.
            release: The release that it is about, or one that grew from it (`Curator.add`).
            device: As in `Modeler`; not in the file.
            max_memory: As in `Modeler`; not in the file.
            engine: As in `Modeler`; not in the file, and so are the next two.
            address: As in `Modeler`.
            workers: As in `Modeler`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it is about another release, damaged, something else, or of a newer version.
            TypeError: If ``release`` is no `Release`.
        """
        path = Path(path)
        state = ModelerState.load(path)
        if not isinstance(release, Release | ReleasedParts):
            raise TypeError(f"release must be a Release, got {type(release).__name__}")
        state.require(release, path)
        modeler = cls(
            release,
            goal=state.goal,
            history=state.history,
            pending=state.pending,
            skipped=state.skipped,
            generator=torch.Generator().manual_seed(state.seed),
            device=device,
            max_memory=max_memory,
            engine=engine,
            address=address,
            workers=workers,
            **state.settings,
        )
        modeler._draws = state.draws or modeler._draws
        if state.fitted is not None:
            modeler._fit.keep(modeler._observed(), state.fitted)
        return modeler

    @property
    def history(self) -> History:
        """What was told, in order."""
        return History(self._told.items(), goal=self.goal)

    @property
    def best(self) -> Observation:
        """Observation that is best for the goal; see `recommend` where answers are noisy.

        Raises:
            ValueError: If nothing was told yet.
        """
        return self.history.best

    @cached_property
    def _hashes(self) -> tuple[str, tuple[int, str] | None]:
        """SHA-256 of the release, and of its rows: they stay, and a search is saved at each answer."""
        return self.release.identity, rows_of(self.release)

    def _observed(self) -> list[Observation]:
        """All answers as the model has them."""
        return [Observation(*each) for each in zip(self._told, self._turned(self._told), strict=True)]

    @property
    def pending(self) -> list[int]:
        """Rows that were asked and not yet told."""
        return list(self._pending)

    @property
    def skipped(self) -> list[int]:
        """Rows that were given up."""
        return sorted(self._skipped)

    @overload
    def ask(self, q: None = None) -> int: ...
    @overload
    def ask(self, q: int) -> list[int]: ...
    @on_cpu_by_default
    def ask(self, q: int | None = None) -> int | list[int]:
        """Choose the row to measure next.

        Asking again before `tell` returns the same row: pending rows come first.

        Args:
            q: None: one row, as an ``int``. A number: a list of so many different rows, chosen as a
                batch (see `DiscreteUCB.select`).

        Returns:
            A row index, or a list of ``q``.

        Raises:
            ValueError: If fewer than ``q`` rows were never asked.
        """
        wanted = 1 if q is None else q
        validate.count(q=wanted)
        left = len(self._candidates) - len(self._told) - len(self._skipped)
        if wanted > left:
            raise ValueError(
                f"q must be at most the {left} rows that are not measured yet, got {wanted}: the "
                f"release has {len(self._candidates)} rows"
            )
        while len(self._pending) < wanted:
            self._pending.extend(self._choose(wanted - len(self._pending)))
        return self._pending[0] if q is None else self._pending[:wanted]

    @on_cpu_by_default
    def tell(self, index: int, value: float | Mapping[str, float], *, correct: bool = False) -> None:
        """Record the outcome of a row, asked for or not.

        Args:
            index: Row in 0..n-1.
            value: Measured outcome, in the curator's unit and sign; at most 1e150 in size. Its unit does
                not matter. With several outcomes, a dict of names to such numbers.
            correct: Replace an earlier value of the same row.

        Raises:
            ValueError: If the row was told another value before and `correct` is False.
        """
        row = validate.index(len(self._candidates), index=index)
        answer: Any = self.goal.checked(value)
        if self._told and self.goal.names and answer.keys() != next(iter(self._told.values())).keys():
            raise ValueError("value must have the outcomes of the values before, and no others")
        known = self._told.get(row, answer)
        if known != answer and not correct:
            raise ValueError(
                f"value must be {known} for index {row}, which was told before, got {answer}: pass "
                f"correct=True to replace it"
            )
        self._told[row] = answer
        self._skipped.discard(row)
        if row in self._pending:
            self._pending.remove(row)

    @on_cpu_by_default
    def skip(self, index: int) -> None:
        """Give a row up that cannot be measured: it is neither asked again nor modelled.

        Args:
            index: Row in 0..n-1, not told yet. A resumed modeler gets it by ``skipped``.

        Raises:
            ValueError: If there is no such row, or its value was told.
        """
        row = validate.index(len(self._candidates), index=index)
        if row in self._told:
            raise ValueError(f"index must be a row without a value, got {row}, which was told")
        self._skipped.add(row)
        if row in self._pending:
            self._pending.remove(row)

    def take_back(self, index: int) -> None:
        """Count a pending or skipped row as not asked: it may be chosen again.

        For a question that was not sent, and for a row that was given up though it can be measured.

        Args:
            index: One of `pending` or `skipped`.

        Raises:
            ValueError: If it is neither.
        """
        row = validate.index(len(self._candidates), index=index)
        if row in self._skipped:
            self._skipped.remove(row)
            return
        if row not in self._pending:
            raise ValueError(f"index must be a pending or skipped row, got {row}")
        self._pending.remove(row)

    @on_cpu_by_default
    def model(self) -> SingleTaskGP | ModelListGP:
        """Model of all observations, with fitted hyperparameters, in eval mode.

        With several outcomes, a `ModelListGP` of those that count for the goal, in the order of
        ``goal.names``.

        Raises:
            ValueError: If nothing was told yet.
        """
        return self._model_by(self._fit, len(self._told))

    def _model_by(self, fit: Any, rounds: int) -> Any:
        told = self._observed()[:rounds]
        since_refit = (rounds - self.n_initial) % self.refit_every
        return fit.model(told, fitted_to=max(1, rounds - since_refit))

    @on_cpu_by_default
    def posterior(self) -> Any:
        """Posterior of all rows given all observations, kept up to date from round to round.

        Returns:
            A `DiscretePosterior`; with several outcomes a dict of names to such.

        Raises:
            ValueError: If nothing was told yet.
        """
        return self._updated(self.max_memory)

    def _updated(self, max_memory: int) -> Any:
        model = self.model()
        if self._posterior is None:
            self._posterior = self._posterior_of(model, max_memory)
        else:
            self._posterior.max_memory = max_memory
            self._posterior.update(model)
        return self._posterior

    def _posterior_after(self, rounds: int) -> Any:
        if rounds == len(self._told):
            return self._updated(self._memory(again=bool(self._pending)))
        return self._posterior_of(self._model_by(self._make_fit(), rounds), NOTHING_KEPT)

    def _posterior_of(self, model: Any, max_memory: int) -> Any:
        make: Any = self.pursuit.posterior
        if sharded(self.release):
            make = partial(sharded_posterior, self.goal.names)
        return make(model, self._candidates, max_memory=max_memory)

    def __repr__(self) -> str:
        return f"Modeler({self.release!r}, told={len(self._told)}, pending={len(self._pending)})"

    def _choose(self, q: int) -> list[int]:
        """Choose up to ``q`` new rows: initial ones while there are some, then by the model."""
        rounds = len(self._told) + len(self._pending)
        asked = {*self._told, *self._pending, *self._skipped}
        initial = [row for row in self._draws.initial if row not in asked]
        room = self.n_initial - rounds
        if room > 0 and initial:
            return initial[: min(q, room)]
        if not self._told:  # a batch larger than the initial design, before any answer
            rest = torch.randperm(len(self._candidates), generator=self._turn()).tolist()
            return [row for row in rest if row not in asked][:q]
        posterior = self._updated(self._memory(again=q > 1 or bool(self._pending)))
        if self._pending:
            posterior = posterior.hallucinate(self._pending)
        t, turn = max(1, rounds - self.n_initial + 1), self._turn()
        if isinstance(posterior, ShardedPosterior):
            # Of all rows: a shard knows how many it has itself.
            exploring = self._exploring._replace(beta=self._exploring.weight(t, len(self._candidates)))
            make = partial(self.pursuit.acquisition, t=t, exploring=exploring)
            levelled = self.pursuit.levelled
            return posterior.select(q, make, exclude=asked, generator=turn, levelled=levelled).tolist()
        acqf = self.pursuit.acquisition(posterior, t, self._exploring)
        return acqf.select(q, exclude=asked, generator=turn).tolist()

    def _memory(self, *, again: bool) -> int:
        """Bytes of V to keep. Where the next round has other hyperparameters it would only cost time."""
        return self.max_memory if again or self.refit_every > 1 else NOTHING_KEPT

    def _turn(self) -> torch.Generator:
        """Randomness of this turn: the same after a resume, which drew nothing before."""
        return torch.Generator().manual_seed(self._draws.seed + len(self._told) + len(self._pending))


def _require_outcomes(goal: Goal, release: Release) -> None:
    """Refuse a goal about other outcomes than the release's curator answers with."""
    names = release.outcome_names
    if names and not goal.names:
        raise ValueError(
            f"goal must be Scalarized or Constrained, since the curator answers with several numbers: "
            f"{', '.join(names)}"
        )
    if names and not set(goal.names) <= set(names):
        raise ValueError(f"goal must be about outcomes among {', '.join(names)}")
    if goal.names and not names and release.outcome_guarantee is not None:
        raise ValueError("goal must be about one number, since the curator answers with one")
