"""Running studies: plan, skip what is done, carry out the rest, judge."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .._spec import is_spec
from .claims import Verdict, judge
from .data_use import require_data
from .engine import Engine, Event, Finished, Job, LocalEngine, Started, not_run
from .errors import UserError
from .outcome import Settings
from .registry import load, select
from .results import Results
from .settings import canonical, without_folders
from .store import Store
from .study import Study, Trial

MOST_SEEDS = 2**31
"""A PRNG key has 32 bits of seed in single precision; larger seeds would repeat smaller ones."""
MOST_TRIALS = 100_000
"""How many trials of a study one run may have: all of them are planned before the first begins."""

ROUNDS = 3
"""How often seeds are added until claims are decided."""
GROWTH = 4
"""By how much a round may multiply the seeds of a study."""


@dataclass(frozen=True)
class Plan:
    """The trials of one study at one preset."""

    reference: str
    study: Study
    settings: Settings
    trials: list[Trial]

    @cached_property
    def needed(self) -> dict[str, Trial]:
        """The trials whose networks the trials look at, by identity."""
        needed = map(self.study.needed_by, self.trials)
        return {trial.id: trial for trial in needed if trial is not None}


def plan(
    references: Sequence[str],
    preset: str | None = "laptop",
    *,
    seeds: int | None = None,
    seed_offset: int = 0,
    assignments: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
) -> list[Plan]:
    """What running these studies means. Raises `UserError` before anything is run.

    **Arguments:** those of `recombine run`; `assignments` are settings as text, `overrides` as
    values; without a preset every study has its default.
    """
    if seeds is not None and seeds < 1:
        raise UserError(f"--seeds {seeds}: at least one seed is needed")
    if seed_offset < 0 or seed_offset + (seeds or 0) > MOST_SEEDS:
        raise UserError(f"--seed-offset {seed_offset}: seeds count from 0 to {MOST_SEEDS}")
    studies = {reference: load(reference) for reference in references}
    names = [study.name for study in studies.values()]
    if len(set(names)) < len(names):
        raise UserError(f"two of the studies are called {max(names, key=names.count)!r}")
    plans = []
    for reference, study in studies.items():
        meant = _meant_for(study, assignments, list(studies.values()))
        size = preset or study.default_preset
        chosen = {**study.parse(meant, size), **(overrides or {})}
        each = study.preset(size).seeds if seeds is None else seeds
        count = len(study.cases(size, chosen)) * each
        if count > MOST_TRIALS:
            raise UserError(
                f"{study.name}: {count:,} trials are more than the {MOST_TRIALS:,} of one run: take"
                " fewer seeds at a time, and the others with --seed-offset"
            )
        trials = study.trials(size, seeds=seeds, seed_offset=seed_offset, overrides=chosen)
        require_data(trials)
        plans.append(Plan(reference, study, Settings(size, dict(trials[0].overrides)), trials))
    return plans


def _meant_for(study: Study, assignments: Sequence[str], studies: list[Study]) -> list[str]:
    """The assignments to fields that `study` has; those that no study has stay, to be refused."""

    def has(other: Study, assignment: str) -> bool:
        return other.has_setting(assignment.partition("=")[0])

    return [a for a in assignments if has(study, a) or not any(has(s, a) for s in studies)]


@dataclass(frozen=True)
class Outlook:
    """What is done of a plan, and what is to do."""

    plan: Plan
    todo: list[Trial]
    """Trials to run; first those whose networks others look at."""
    shared: dict[str, int]
    """How many trials are done because another study asked for them, by its name."""
    earlier: int
    """How many trials have results of earlier code only."""
    instead: dict[str, str]
    """Identities of the trials that are used, by those of the present code that they replace."""


def look_ahead(plans: Sequence[Plan], store: Store, keep_earlier: bool = False) -> list[Outlook]:
    """What is to do for each of the plans; what two of them ask for counts for the first.

    **Arguments:**

    - `keep_earlier`: use results of earlier code, instead of running these trials again.
    """
    known = [t for p in plans for t in (*p.needed.values(), *p.trials)]
    done, first = store.finished(known), store.first_asked_by(known)
    earlier = store.earlier([t for t in known if t.id not in done])
    seen = set(done)
    found = []
    for p in plans:
        old = {t.id: earlier[t.id] for t in p.trials if t.id in earlier}
        instead = dict(old) if keep_earlier else {}
        looking = []
        for trial in (t for t in p.trials if t.id not in seen and t.id not in instead):
            other = earlier.get(trial.needs)
            if keep_earlier and other is not None and store.kept(other):
                looking.append(replace(trial, needs=other))
                instead[trial.id] = looking[-1].id
            else:
                looking.append(trial)
        wanted = dict.fromkeys(t.needs for t in looking if t.needs in p.needed)
        todo = [p.needed[n] for n in wanted if n not in seen] + looking
        seen |= {t.id for t in todo}
        by = Counter(
            first.get(i, "") for i in {t.id for t in (*p.needed.values(), *p.trials)} & done
        )
        others = {study: n for study, n in by.items() if study not in ("", p.study.name)}
        found.append(Outlook(p, todo, others, len(old), instead))
    return found


def execute(
    plans: Sequence[Plan],
    store: Store,
    engine: Engine | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    *,
    keep_earlier: bool = False,
    looks: int = 1,
) -> int:
    """Carry out what is not done yet. Returns how many trials failed.

    **Arguments:**

    - `keep_earlier`: use results of earlier code, instead of running these trials again.
    - `looks`: how often results may be looked at before there are seeds enough.
    """
    engine = engine or LocalEngine()
    failed = 0
    with store.lock():
        started = time.monotonic()
        runs, jobs = [], []
        for outlook in look_ahead(plans, store, keep_earlier):
            p = outlook.plan
            seeds = sorted({t.seed for t in p.trials})
            runs.append(
                store.begin_run(p.study.name, p.reference, p.settings, seeds, engine.workers, looks)
            )
            store.ask((*p.needed.values(), *p.trials), outlook.instead)
            jobs += [Job(t, p.reference, store.folder) for t in outlook.todo]
        _tidy(store)
        for event in _events(jobs, store, engine):
            if isinstance(event, Finished):
                store.write(event.trial, event.outcome)
                if event.outcome.status == "done":
                    shutil.rmtree(store.checkpoints(event.trial.id), ignore_errors=True)
                else:
                    failed += 1
            on_event(event)
        for run in runs:
            store.end_run(run, time.monotonic() - started)
    return failed


def _events(jobs: Sequence[Job], store: Store, engine: Engine) -> Iterator[Event]:
    """Carry out jobs: first those that need no other, then those that look at their networks."""
    yield from engine.run([job for job in jobs if not job.trial.needs])
    looking = [job for job in jobs if job.trial.needs]
    done = store.done(job.trial.needs for job in looking)
    for job in looking:
        if job.trial.needs not in done:
            yield Started(job.trial, 0)
            why = store.why_not(job.trial.needs)
            yield Finished(job.trial, not_run(f"the trial that it needs did not finish: {why}"))
    yield from engine.run([job for job in looking if job.trial.needs in done])


def _tidy(store: Store) -> None:
    """Remove the checkpoints of trials that are done: a run may have been killed just before."""
    for trial in store.done(path.name for path in store.checkpoints("").glob("*")):
        shutil.rmtree(store.checkpoints(trial), ignore_errors=True)


def more_seeds(plan: Plan, verdicts: Sequence[Verdict]) -> Plan | None:
    """The same plan with as many seeds as are likely to decide its undecided claims.

    At most `GROWTH` times as many as it has; None if no number of seeds would help.
    """
    wanted = max((v.seeds for v in verdicts if v.verdict == "undecided" and v.seeds), default=0)
    seeds = sorted({t.seed for t in plan.trials})
    count = min(wanted, GROWTH * len(seeds))
    if count <= len(seeds):
        return None
    preset, overrides = plan.settings.preset, plan.settings.overrides
    trials = plan.study.trials(preset, seeds=count, seed_offset=seeds[0], overrides=overrides)
    return replace(plan, trials=trials)


def conclude(plan: Plan, store: Store) -> tuple[Results, list[Verdict]]:
    """The results of what was planned, and its claims, judged and recorded."""
    results = collect(plan.study, plan.settings, store)
    judged = verdicts(plan.study, results)
    store.write_verdicts(judged)
    return results, judged


def collect(study: Study, settings: Settings, store: Store) -> Results:
    """The stored results of the conditions that `study` has today, over all seeds.

    They are of the code that there is today; where there are none of it, of earlier code.
    """
    planned = {t.key: t.code for t in conditions(study, settings)}
    results = store.results(study.name, settings, planned)
    found = {canonical(without_folders(r.config)) for r in results.records}
    failed = len(store.failures(study.name, settings, planned))
    looks = store.looks(study.name, settings)
    return replace(results, failed=failed, missing=len(planned.keys() - found), looks=looks)


def conditions(study: Study, settings: Settings) -> list[Trial]:
    """One trial of every condition that `study` has with these settings."""
    return study.trials(settings.preset, seeds=1, overrides=settings.overrides)


def verdicts(study: Study, results: Results) -> list[Verdict]:
    """Every claim of `study`, judged."""
    return [judge(claim, study.name, results) for claim in study.claims]


def run_study(
    study: str,
    preset: str | None = None,
    *,
    seeds: int | None = None,
    seed_offset: int = 0,
    store: str | Path = "recombine-store",
    workers: int | None = None,
    keep_earlier: bool = False,
    **settings: Any,
) -> Results:
    """Run one study from Python and return its results.

    **Arguments:** those of `recombine run`; `settings` are fields of the study's config. A spec is
    given as such or by its name, and several of them or of another axis as a list.
    """
    texts, values = _settings(settings)
    (planned,) = plan(
        select([study]), preset, seeds=seeds, seed_offset=seed_offset, assignments=texts,
        overrides=values,
    )  # fmt: skip
    opened = Store.create(store)  # stays open: curves and arrays are read when they are asked for
    execute([planned], opened, LocalEngine(workers), keep_earlier=keep_earlier)
    return conclude(planned, opened)[0]


def _settings(settings: Mapping[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Settings as text, to be read and checked as those of the command line, and specs as such."""
    texts, values = [], {}
    for name, value in settings.items():
        items = value if isinstance(value, (list, tuple)) else [value]
        if any(map(is_spec, items)):
            values[name] = value
        else:
            texts.append(f"{name}={','.join(map(str, items))}")
    return texts, values
