"""A model between fixed maps that split its inputs and outputs into components and merge them."""

from collections.abc import Callable, Sequence

import equinox as eqx
from jaxtyping import Array, Float


class ExtendedModel(eqx.Module):
    """Ŷ = h ∘ h⁻¹ ∘ f_θ ∘ g ∘ g⁻¹(X): the same function as f_θ, with its components exposed.

    g⁻¹ is an oracle that splits an input into components (X_1 ... X_K), and g puts them together
    again; h⁻¹ and h do the same for outputs. Splitting is exact, so that outputs and gradients are
    those of f_θ, up to rounding; what is said of ∂Ŷ_i/∂X_j for the extended model is said of f_θ.
    The oracles do not learn: only the parameters of `model` do, if the oracles are functions.

    **Arguments:**

    - `model`: f_θ, which maps a batch of inputs to outputs.
    - `split_input`: g⁻¹, from a batch of inputs to the components, each a batch.
    - `merge_input`: g, from the components to inputs.
    - `split_output`, `merge_output`: h⁻¹ and h. By default outputs are left as they are
        (extended model 1).
    """

    model: Callable[[Array], Array]
    split_input: Callable[[Array], Sequence[Array]] = eqx.field(static=True)
    merge_input: Callable[..., Array] = eqx.field(static=True)
    split_output: Callable[[Array], Sequence[Array]] | None = eqx.field(static=True, default=None)
    merge_output: Callable[..., Array] | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if (self.split_output is None) != (self.merge_output is None):
            raise ValueError("outputs that are split have to be merged: give both maps, or none")

    def of_components(self, *components: Float[Array, "batch ..."]) -> tuple[Array, ...]:
        """(Ŷ_1 ... Ŷ_K) as a function of (X_1 ... X_K): h⁻¹ ∘ f_θ ∘ g.

        Its derivatives are those of which Propositions 4 and 5 speak.
        """
        outputs = self.model(self.merge_input(*components))
        return (outputs,) if self.split_output is None else tuple(self.split_output(outputs))

    def __call__(self, x: Float[Array, "batch ..."]) -> Float[Array, "batch ..."]:
        """The outputs for a batch of inputs."""
        outputs = self.of_components(*self.split_input(x))
        return outputs[0] if self.merge_output is None else self.merge_output(*outputs)
