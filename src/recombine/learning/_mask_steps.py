"""How many steps masks need: what Adam makes of the price of a weight."""

from .._errors import UserError

ADAM_EPS = 1e-8
"""ε of Adam: beside it, the price of a weight must not be small."""


def steps_to_remove(
    beta: float, batch_size: int, rate: float, *, logit: float = 2.0, eps: float = ADAM_EPS
) -> float:
    """Steps after which the logit of a useless weight crosses 0.

    Adam turns the constant gradient α = β / batch size into α / (α + ε) times its rate per step:
    about the rate, whatever α is, unless α is as small as ε.
    """
    alpha = beta / batch_size
    return logit / (rate * alpha / (alpha + eps))


def check_mask_steps(
    steps: int, beta: float, batch_size: int, rate: float, *, logit: float = 2.0
) -> None:
    """Refuse so few steps that not even useless weights are removed: they need `steps_to_remove`.

    Masks are tight only after several times as many.
    """
    needed = steps_to_remove(beta, batch_size, rate, logit=logit)
    if steps <= needed:
        raise UserError(
            f"{steps} steps remove no weight: at rate={rate:g} and beta={beta:g} the logit of a "
            f"useless weight needs {needed:.0f} to cross 0; use several times as many, or a higher "
            "rate"
        )
