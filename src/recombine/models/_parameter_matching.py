"""How many parameters blocks have, and the sizes with which blocks have equally many."""

import math


def dense_parameters(width: int, hidden: int) -> int:
    """Weights and biases of a dense feed-forward network."""
    return 2 * width * hidden + hidden + width


def mixture_parameters(width: int, experts: int, size: int) -> int:
    """Weights of a mixture of experts, with its router."""
    return 2 * width * size * experts + experts * width


def product_key_parameters(width: int, keys: int, heads: int = 4) -> int:
    """Sub-keys and values of a product-key memory."""
    return heads * keys * width + keys**2 * width


def attention_parameters(width: int, heads: int, head_width: int) -> int:
    """Weights of a relative attention: queries, keys, values, positions, what is read, two biases
    and a scale. The published one holds a number more, which nothing reads."""
    return 5 * width * heads * head_width + 2 * heads * head_width + 1


def language_parameters(
    vocabulary: int, width: int, layers: int, heads: int, head_width: int, feed_forward: int
) -> int:
    """All parameters of a language model with norms before its blocks.

    **Arguments:**

    - `feed_forward`: the parameters of the feed-forward network of one layer.
    """
    layer = attention_parameters(width, heads, head_width) + 4 * width + feed_forward
    return layers * layer + 2 * vocabulary * width + vocabulary + 2 * width


def matching_hidden(parameters: int, width: int) -> float:
    """The hidden units with which a dense network has so many parameters; round it as you like."""
    return (parameters - width) / (2 * width + 1)


def matching_keys(parameters: int, width: int, heads: int = 4) -> float:
    """The sub-keys with which a product-key memory has so many parameters; round it as you like."""
    return math.sqrt(heads**2 / 4 + parameters / width) - heads / 2
