"""The designs of Gao et al. (RSS 2024): which combinations of factors are collected."""


def diagonal(factors=3, values=5):
    """All factors change at the same time."""
    return [(v,) * factors for v in range(values)]


def l_shape(factors=3, values=5):
    """One factor at a time differs from a base."""
    base = (0,) * factors
    others = [
        tuple(v if g == f else 0 for g in range(factors))
        for f in range(factors)
        for v in range(1, values)
    ]
    return [base, *others]


def stair(factors=3, values=5):
    """The factors change in turn, each from where the others are."""
    found, now = [(0,) * factors], [0] * factors
    for v in range(1, values):
        for f in range(factors):
            now[f] = v
            found.append(tuple(now))
    return found
