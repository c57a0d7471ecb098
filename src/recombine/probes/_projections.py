"""Which of the k images in an input does each module look at?"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int


class ImageConcentration(NamedTuple):
    """How far every module looks at one image only."""

    share: Float[Array, " modules"]
    """The share of a module's projection that lies in its strongest image: 1/k to 1."""
    image: Int[Array, " modules"]
    """The index of each module's strongest image."""
    distinct: Int[Array, ""]
    """How many of the k images are the strongest of some module."""


def image_concentration(
    U: Float[Array, "inputs modules width"],
    k: int,
    *,
    x: Float[Array, "samples inputs"] | None = None,
) -> ImageConcentration:
    """The share of each module's squared projection weights in its strongest image (Figure 12).

    About 1/k for random projections, and 1 for a module that is blind to all images but one.

    **Arguments:**

    - `U`: the projections of a `ModularImageNetwork`.
    - `k`: images in an input.
    - `x`: inputs. If given, the share is that of the variance of the projected inputs, Var(U_iᵀ
        x_i) for image i, summed over the projection's columns.
    """
    inputs, modules, width = U.shape
    if inputs % k:
        raise ValueError(f"projections of {inputs} inputs are not those of {k} images; check k")
    by_image = U.reshape(k, -1, modules * width)
    if x is None:
        squares = jnp.square(by_image).sum(axis=1)
    else:
        squares = jnp.stack(
            [
                (part @ u).var(axis=0)
                for part, u in zip(jnp.split(x, k, axis=1), by_image, strict=True)
            ]
        )
    energy = squares.reshape(k, modules, width).sum(axis=-1)
    image = energy.argmax(axis=0)
    return ImageConcentration(
        share=energy.max(axis=0) / energy.sum(axis=0),
        image=image,
        distinct=(image == jnp.arange(k)[:, None]).any(axis=1).sum(),
    )


def projection_map(
    U: Float[Array, "inputs modules width"],
    k: int,
    shape: tuple[int, ...],
    *,
    module: int = 0,
    column: int = 0,
) -> Float[Array, " k *shape"]:
    """One column of a module's projection as k images (Figure 12).

    **Arguments:**

    - `U`: the projections of a `ModularImageNetwork`.
    - `k`: images in an input.
    - `shape`: rows and columns of an image, and channels if it has any.
    - `module`, `column`: the module, and the column of its projection.
    """
    return U[:, module, column].reshape(k, *shape)
