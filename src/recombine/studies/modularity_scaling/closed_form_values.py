"""Values of the closed forms with the paper's constants c = 1.15, Omega = 1.57, alpha = 0.85.

Calculated independently of this code, and rounded. The paper prints none of them; those of
Figures 2 and 3 agree with its pictures. All are text, because the number of digits shows their
precision.
"""

from decimal import Decimal

import numpy as np

PARAMETERS = (97, 241, 385, 1153, 3265, 5377, 16897, 49921, 82945)
"""Parameters of the paper's nine networks, counted as if they had one input."""
SAMPLES = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
DIMENSIONS = tuple(range(2, 10))

EFFECTIVE_DIMENSION = {
    2: ("11.69", "6.08", "1.925"),
    4: ("50.89", "36.91", "1.379"),
    6: ("261.5", "224.3", "1.166"),
    8: ("1473.0", "1362.7", "1.081"),
    10: ("8665.8", "8279.3", "1.047"),
}
"""Effective dimension, Omega^(2m), and their ratio, by m."""
LIMIT_OF_RATIO = "1.02334"

NORMS = {(20, 10): "1.1111", (10, 20): "1.1111", (30, 10): "0.52632"}
"""F(n, p)."""

THEOREM_1 = {
    (1000, 100, 5): ("0.708887", "0.111235", "0.787740", "0.637998"),
    (100, 1000, 5): ("0.557379", "0.111235", "1.152738", "0"),
    (1000, 500, 3): ("0.230699", "1.002004", "0.461861", "0.115350"),
    (500, 1000, 3): ("0.192917", "1.002004", "0.864762", "0"),
    (10000, 980.05, 7): ("0.857944", "0.108666", "0.951173", "0.773862"),
    (1000, 980.05, 5): ("0.558557", "51.717678", "29.445807", "0.011143"),
}
"""Tr(Lambda_2), F, test and training loss, by n, p, m."""

SIMULATED_1 = {(30, 10, 1): "0.9446", (10, 30, 1): "1.1737", (15, 10, 2): "1.8892",
               (5, 30, 2): "2.3474"}  # fmt: skip
"""Test loss of Theorem 1 at m = 3, by n, p, d."""

SIMULATED_2 = {(60, 30, 20): ("0.5080", "0.2626"), (15, 30, 5): ("3.302", "3.278")}
"""Test loss of Theorem 2 with consistent counts and as printed, b = 1, by n, p, m."""

REQUIRED = {
    97: ("99.06", "208.5", "736.5", "1979.8"),
    241: ("231.3", "454.5", "1629", "4917.4"),
    385: ("361.1", "685.7", "2465", "7855.0"),
    1153: ("1042", "1834", "6576", "23522"),
    3265: ("2887", "4764", "1.690e4", "66607"),
    5377: ("4720", "7569", "2.667e4", "109692"),
    16897: ("1.465e4", "2.214e4", "7.657e4", "344700"),
    49921: ("4.298e4", "6.182e4", "2.094e5", "1018389"),
    82945: ("7.124e4", "1.003e5", "3.364e5", "1692079"),
}
"""Samples for a test loss of 1.2 at m = 2, 5, 9 and as m goes to infinity, by parameters."""

REQUIRED_MODULAR = {97: "88.5", 1153: "992.9", 82945: "70559"}
"""Samples for a test loss of 1.2 by Theorem 2 as printed, b = 1, any m, by parameters."""

THEOREM_2 = {
    (1000, 2): ("0.06759", "0.06845", "0.06774"),
    (1000, 10): ("0.06759", "0.07223", "0.06835"),
    (1000, 50): ("0.06759", "0.10444", "0.07157"),
    (50, 10): ("5.6675", "5.6738", "6.1610"),
}
"""Test loss as printed, of `total` and of `module`, with p = 100 and b = 1, by n, m."""

FIGURE_2 = {
    "test by k": "1.858",
    "train by k": "0.262",
    "test by m": "0.62 0.93 1.34 1.78 2.17 2.47 2.70 2.86",
    "train by m": "0.045 0.102 0.176 0.251 0.317 0.368 0.405 0.431",
    "test by p": "1.007 1.113 1.288 43.4 1.462 1.282 1.176 1.156 1.153",
    "train by p": "0.847 0.704 0.583 0.016 0.000 0.000 0.000 0.000 0.000",
    "test by n": "1.210 1.295 1.843 43.4 1.616 1.024 0.913 0.866 0.840 0.832",
    "train by n": "0.000 0.000 0.000 0.016 0.420 0.662 0.743 0.783 0.807 0.815",
}
"""The dashed lines of Figure 2: averages over the grid; the last four over m = 5 to 9."""


def digits_off(found, *known: str) -> float:
    """The largest difference of `found` from numbers in text, in units of their last digits.

    Up to a half, they are equal as printed: `digits_off(1.8576, "1.858")` is 0.4.
    """
    unit = [10.0 ** int(Decimal(text).as_tuple().exponent) for text in known]
    return float(np.max(np.abs(np.ravel(found) - np.array(known, float)) / unit))
