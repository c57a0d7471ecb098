"""A text that is made up, for trying things out where no corpus is at hand."""

import numpy as np


def generated_text(size: int, *, seed: int) -> bytes:
    """Words of a made-up language, which follow each other with habits, in `size` bytes.

    There are 200 words of 2 to 7 letters, drawn by Zipf's law; every second one is one of the four
    that like to follow the word before.
    """
    generator = np.random.default_rng(seed)
    letters = "etaoinshrdlu"
    words = ["".join(generator.choice(list(letters), generator.integers(2, 8))) for _ in range(200)]
    share = 1 / np.arange(1, 201)
    followers = generator.integers(0, 200, (200, 4))
    drawn = generator.choice(200, size // 3 + 1, p=share / share.sum())
    habits, which = generator.random(len(drawn)) < 0.5, generator.integers(0, 4, len(drawn))
    for i in range(1, len(drawn)):
        if habits[i]:
            drawn[i] = followers[drawn[i - 1], which[i]]
    return " ".join(words[i] for i in drawn).encode()[:size]
