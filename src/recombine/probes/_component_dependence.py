"""Does a trained predictor keep the components of its input apart?"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Array, Num

from ..splits._conditional_independence import IndependenceReport
from ..splits._information import conditional_mutual_information


def component_dependence(
    predict: Callable[..., Array | np.ndarray],
    components: Sequence[Num[Array | np.ndarray, "_ ..."]],
    *,
    tolerance: float = 1e-9,
) -> IndependenceReport:
    """What each answer of a trained predictor depends on, in bits.

    The predictor is asked about every combination of examples of the components, as if they were
    drawn independently: an intervention, not the combinations of training. A predictor whose
    answer i is a function of component i alone has the conditional independence property, and its
    accuracy on new combinations is that on its components.

    ```python
    >>> digits = jnp.arange(10)
    >>> print(component_dependence(lambda x1, x2: x1[:, None], [digits, digits]))
    Every output depends on its own input only.
    >>> print(component_dependence(lambda x1, x2: (x1 + x2 % 2)[:, None], [digits, digits]))
    Not every output depends on its own input only:
      output 0 depends on input 1 (1 bit)
    ```

    **Arguments:**

    - `predict`: maps a batch of every component, `predict(x_1, ..., x_K)`, to answers
        `[batch, outputs]` that are whole numbers, such as an argmax over classes. Output i belongs
        to component i; there may be fewer outputs than components.
    - `components`: examples of every component. All combinations make one batch: a hundred
        examples of two components are 10,000 inputs.
    - `tolerance`: a dependence of at most so many bits counts as none.

    **Returns:** a report. Answers are certain, so that outputs have no coupling.
    """
    sizes = [len(examples) for examples in components]
    places = np.indices(sizes).reshape(len(sizes), -1)
    answers = np.asarray(
        predict(*(examples[chosen] for examples, chosen in zip(components, places, strict=True)))
    )
    if answers.ndim != 2 or not np.issubdtype(answers.dtype, np.integer):
        raise ValueError(
            f"predict must return whole numbers [batch, outputs], not {answers.dtype} of shape "
            f"{answers.shape}; take an argmax over classes, and add an axis for a single output"
        )
    if answers.shape[1] > len(sizes):
        raise ValueError(f"{answers.shape[1]} outputs cannot each have one of {len(sizes)} inputs")
    dependence = []
    for column in answers.T:
        kinds, numbers = np.unique(column, return_inverse=True)
        table = np.eye(len(kinds))[numbers].reshape(*sizes, len(kinds))
        inputs = set(range(len(sizes)))
        dependence.append(
            [
                conditional_mutual_information(table, -1, x, tuple(inputs - {x}))
                for x in range(len(sizes))
            ]
        )
    return IndependenceReport(np.array(dependence), np.zeros(len(dependence)), tolerance)
