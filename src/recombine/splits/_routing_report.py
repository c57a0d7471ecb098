"""Can a set of trained routes support zero-shot routing? The conditions, checked one by one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import SupportsFloat, TypeVar

import numpy as np
from jaxtyping import ArrayLike, Bool

from ._mixing_routes import mixing_routes
from ._route_graph import (
    Family,
    Route,
    RouteComponent,
    joining_routes,
    mask_family,
    route_components,
    spectral_gap,
)

_THRESHOLD: dict[Family, float] = {"full": 1.0, "ring": 0.4, "regular": 0.3, "other": 0.4}
_SPECTRAL_GAP = 0.22
_SMALL_INIT = 0.2
_SHARED = 0.9
_SHOWN = 20

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class RoutingReport:
    """What a mask of trained routes offers for the routes that are not trained.

    The conditions are numbered C1 to C6. Those on training (C5) are None where the report was not
    told.
    """

    num_inputs: int
    num_outputs: int
    routes: tuple[Route, ...]
    """The trained routes (input, output)."""

    untrained_inputs: tuple[int, ...]
    """C1: input domains without a trained route; their weights would never be trained."""
    untrained_outputs: tuple[int, ...]
    """C2: output domains without a trained route."""

    components: tuple[RouteComponent, ...]
    """C3: the connected components of the graph of trained routes. Each may learn a code of its
    own."""

    fraction: float
    """C4: the fraction of all routes that is trained."""
    family: Family
    """`ring` if it is one for some order of the domains, `regular` if all domains of a side have
    equally many routes, `full` if all routes are trained, else `other`. The order of domains does
    not matter to a randomly initialised network."""
    expected_threshold: float
    """The fraction needed in square masks of this family: about 0.4 in rings (the paper's value),
    0.3 in random regular masks, at M around 10."""
    spectral_gap: float
    """How well the trained routes mix the domains: 0 if the mask has several components,
    small if a bottleneck or a long ring keeps domains distant, 1 if all domains have the same
    partners."""

    relative_init: float | None
    """C5: the scale of the initial weights over that of the final ones."""
    sharing: float | None
    """C5: the cross-domain sharing index after training."""

    reachable: tuple[Route, ...]
    """C6: the untrained routes within a component: gates alone can open them, without further
    training. No training on these routes can ever open the others."""

    input_names: tuple[str, ...] = ()
    """What the input domains are called; empty: they are numbered."""
    output_names: tuple[str, ...] = ()
    """What the output domains are called; empty: they are numbered."""

    @property
    def every_input_trained(self) -> bool:
        """C1: every input domain has a trained route."""
        return not self.untrained_inputs

    @property
    def every_output_trained(self) -> bool:
        """C2: every output domain has a trained route."""
        return not self.untrained_outputs

    @property
    def connected(self) -> bool:
        """C3: trained routes connect all domains."""
        return len(self.components) == 1

    @property
    def well_mixed(self) -> bool:
        """C4: the spectral gap is at least 0.22.

        Measured on the paper's toy task from small weights (sigma_0 = 0.2) over 201 connected
        masks with 5 to 16 domains per side: rings with and without short cuts, random, with hubs,
        with communities. The 134 that pass had an untrained error of at most 1.2 % of that of zero
        weights, whatever the seed; of the 67 that fail, 51 were worse, up to worse than zero
        weights. The fraction of trained routes says less. Two halves connected by a single route
        train half of all routes and fail; one output domain that is trained with all inputs makes
        up for nearly everything else, so that 2 M - 1 routes can do. Rings pass at about 40 %.
        """
        return self.spectral_gap >= _SPECTRAL_GAP

    @property
    def above_threshold(self) -> bool:
        """C4, the paper's rule of thumb: the fraction trained reaches that of the family."""
        return self.fraction >= self.expected_threshold - 1e-9

    @property
    def small_init(self) -> bool | None:
        """C5: initial weights are at most a fifth of the final ones: the race, not the lazy regime.

        None if they were not given.
        """
        return None if self.relative_init is None else self.relative_init <= _SMALL_INIT

    @property
    def shares(self) -> bool | None:
        """C5: the trained domains share a representation, index above 0.9; None if not given."""
        return None if self.sharing is None else self.sharing > _SHARED

    @property
    def supports_zero_shot(self) -> bool:
        """Whether untrained routes can be relied on to work: no condition is known to fail.

        True for a full mask, where no route is left untrained.
        """
        return (
            self.every_input_trained
            and self.every_output_trained
            and self.connected
            and self.well_mixed
            and self.small_init is not False
            and self.shares is not False
        )

    @property
    def routes_to_connect(self) -> tuple[Route, ...]:
        """The fewest routes (input, output) whose training would connect all components."""
        return joining_routes(self.components)

    @property
    def routes_to_mix(self) -> tuple[Route, ...]:
        """Few routes whose training would connect all domains and mix them well (C3 and C4)."""
        mask = np.zeros((self.num_inputs, self.num_outputs), bool)
        mask[tuple(np.array(self.routes, int).reshape(-1, 2).T)] = True
        return mixing_routes(mask, _SPECTRAL_GAP)

    def describe(self) -> str:
        """The report in words: what holds, what is missing, and which routes to add."""
        total = self.num_inputs * self.num_outputs
        verdict = "can" if self.supports_zero_shot else "cannot be relied on to"
        lines = [
            f"{len(self.routes)} of {total} routes are trained ({self.fraction:.0%}, mask family:"
            f" {self.family}). They {verdict} support zero-shot routing.",
            _line(
                self.every_input_trained,
                "C1 every input domain has a trained route",
                "C1 input domains without a trained route: "
                + _shown(self.untrained_inputs, self._input),
            ),
            _line(
                self.every_output_trained,
                "C2 every output domain has a trained route",
                "C2 output domains without a trained route: "
                + _shown(self.untrained_outputs, self._output),
            ),
            _line(
                self.connected,
                "C3 trained routes connect all domains",
                f"C3 trained routes form {len(self.components)} components that share no domain: "
                + _shown(self.components, self._component, "; "),
            ),
        ]
        if not self.connected:
            lines.append(
                f"     to connect them, also train: {_shown(self.routes_to_connect, self._route)}"
            )
        lines.append(self._describe_mixing())
        if not self.well_mixed:
            further = self.routes_to_mix[len(self.components) - 1 :]
            if further:
                lines.append(f"     to mix them, also train: {_shown(further, self._route)}")
        lines += [self._describe_init(), self._describe_sharing()]
        untrained = total - len(self.routes)
        lines.append(
            _line(
                len(self.reachable) == untrained,
                f"C6 all {untrained} untrained routes can be opened by gates alone",
                f"C6 only {len(self.reachable)} of {untrained} untrained routes can be opened by"
                " gates alone",
            )
        )
        return "\n".join(line for line in lines if line)

    def _input(self, domain: int) -> str:
        return self.input_names[domain] if self.input_names else str(domain)

    def _output(self, domain: int) -> str:
        return self.output_names[domain] if self.output_names else str(domain)

    def _route(self, route: Route) -> str:
        return f"{self._input(route[0])} -> {self._output(route[1])}"

    def _component(self, component: RouteComponent) -> str:
        inputs = _shown(component.inputs, self._input)
        outputs = _shown(component.outputs, self._output)
        if not outputs:
            return f"input {inputs} alone"
        if not inputs:
            return f"output {outputs} alone"
        return f"inputs {inputs} with outputs {outputs}"

    def _describe_mixing(self) -> str:
        return _line(
            self.well_mixed,
            f"C4 trained routes mix the domains well: spectral gap {self.spectral_gap:.2f}",
            f"C4 trained routes mix the domains poorly: spectral gap {self.spectral_gap:.2f},"
            f" needed {_SPECTRAL_GAP}",
        )

    def _describe_init(self) -> str:
        if self.relative_init is None:
            return "  ?  C5 unknown: the scale of the initial weights was not given"
        return _line(
            self.small_init,
            f"C5 initial weights are small: {self.relative_init:.2f} of the final ones",
            f"C5 initial weights are {self.relative_init:.2f} of the final ones, above"
            f" {_SMALL_INIT}: routes may be learned one by one (lazy regime)",
        )

    def _describe_sharing(self) -> str:
        if self.sharing is None:
            return ""
        return _line(
            self.shares,
            f"C5 domains share their representation: index {self.sharing:.2f}",
            f"C5 domains do not share their representation: index {self.sharing:.2f}, not above"
            f" {_SHARED}",
        )


def routing_report(
    mask: Bool[ArrayLike, "M_in M_out"],
    *,
    init_scale: SupportsFloat | None = None,
    final_singular_value: SupportsFloat | None = None,
    sharing: SupportsFloat | None = None,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
) -> RoutingReport:
    """Check the conditions under which a network routes zero-shot.

    ```python
    >>> print(routing_report(np.eye(2, dtype=bool)).describe())
    2 of 4 routes are trained (50%, mask family: ring). They cannot be relied on to support zero-shot routing.
      ok C1 every input domain has a trained route
      ok C2 every output domain has a trained route
     NOT C3 trained routes form 2 components that share no domain: inputs 0 with outputs 0; inputs 1 with outputs 1
         to connect them, also train: 1 -> 0
     NOT C4 trained routes mix the domains poorly: spectral gap 0.00, needed 0.22
      ?  C5 unknown: the scale of the initial weights was not given
     NOT C6 only 0 of 2 untrained routes can be opened by gates alone
    ```

    **Arguments:**

    - `mask`: the trained routes; rows are input domains, columns output domains. Need not be
        square.
    - `init_scale`: the scale (singular values) of the initial weights.
    - `final_singular_value`: the scale of the weights after training, such as the largest singular
        value of an input map; needed with `init_scale`.
    - `sharing`: the sharing index of the trained network, from `probes.sharing_index`.
    - `input_names`, `output_names`: what the domains are called, in the order of the mask; else
        they are numbered.
    """  # noqa: E501
    trained = np.asarray(mask, bool)
    if trained.ndim != 2 or 0 in trained.shape:
        raise ValueError(f"a mask has rows and columns; this one has shape {trained.shape}")
    for names, count in ((input_names, trained.shape[0]), (output_names, trained.shape[1])):
        if names and (
            isinstance(names, str) or len(set(names)) != len(names) or len(names) != count
        ):
            raise ValueError(f"{count} domains need as many different names, not {list(names)}")
    if (init_scale is None) != (final_singular_value is None):
        raise ValueError("give init_scale and final_singular_value together")
    relative_init = None
    if init_scale is not None and final_singular_value is not None:
        relative_init = float(init_scale) / float(final_singular_value)
    components = route_components(trained)
    family = mask_family(trained)
    return RoutingReport(
        num_inputs=trained.shape[0],
        num_outputs=trained.shape[1],
        routes=tuple((int(i), int(j)) for i, j in np.argwhere(trained)),
        untrained_inputs=tuple(np.flatnonzero(~trained.any(1)).tolist()),
        untrained_outputs=tuple(np.flatnonzero(~trained.any(0)).tolist()),
        components=components,
        fraction=float(trained.mean()),
        family=family,
        expected_threshold=_THRESHOLD[family],
        spectral_gap=spectral_gap(trained),
        relative_init=relative_init,
        sharing=None if sharing is None else float(sharing),
        reachable=tuple(
            (i, j)
            for component in components
            for i in component.inputs
            for j in component.outputs
            if not trained[i, j]
        ),
        input_names=tuple(map(str, input_names)),
        output_names=tuple(map(str, output_names)),
    )


def _line(holds: bool | None, yes: str, no: str) -> str:
    return f"  ok {yes}" if holds else f" NOT {no}"


def _shown(items: Sequence[_Item], text: Callable[[_Item], str], between: str = ", ") -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return between.join(map(text, items[:_SHOWN])) + more
