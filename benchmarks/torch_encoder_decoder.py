"""A universal transformer from sequences to sequences, as one would write it down in PyTorch."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class Sizes(NamedTuple):
    words: int
    symbols: int
    width: int
    hidden: int
    heads: int
    layers: int
    dropout: float


class Attention(nn.Module):
    """Attention of several heads without biases; dropout acts on the weights."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.heads, self.rate = sizes.heads, sizes.dropout
        self.query = nn.Linear(sizes.width, sizes.width, bias=False)
        self.key_value = nn.Linear(sizes.width, 2 * sizes.width, bias=False)
        self.output = nn.Linear(sizes.width, sizes.width, bias=False)

    def by_head(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def keys_and_values(self, sources):
        return [self.by_head(x) for x in self.key_value(sources).chunk(2, dim=2)]

    def read(self, targets, keys, values, mask=None):
        query = self.by_head(self.query(targets))
        logits = query @ keys.transpose(2, 3) / math.sqrt(query.shape[3])
        if mask is not None:
            logits = logits.masked_fill(~mask, -math.inf)
        weights = functional.dropout(logits.softmax(dim=3), self.rate, self.training)
        return self.output((weights @ values).transpose(1, 2).flatten(2))

    def forward(self, targets, sources, mask=None):
        return self.read(targets, *self.keys_and_values(sources), mask)


class FeedForward(nn.Sequential):
    def __init__(self, sizes: Sizes):
        super().__init__(
            nn.Linear(sizes.width, sizes.hidden), nn.ReLU(), nn.Dropout(sizes.dropout),
            nn.Linear(sizes.hidden, sizes.width),
        )  # fmt: skip


class Universal(nn.Module):
    """One layer of an encoder and one of a decoder, each applied several times."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.sizes, width = sizes, sizes.width
        self.words = nn.Embedding(sizes.words + 3, width)
        self.symbols = nn.Embedding(sizes.symbols + 1, width)
        nn.init.kaiming_normal_(self.words.weight)
        nn.init.kaiming_normal_(self.symbols.weight)
        self.bias = nn.Parameter(torch.zeros(sizes.symbols + 1))
        self.encoder = nn.ModuleList([Attention(sizes), FeedForward(sizes)])
        self.decoder = nn.ModuleList([Attention(sizes), Attention(sizes), FeedForward(sizes)])
        self.encoder_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.decoder_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.drop = nn.Dropout(sizes.dropout)
        angles = torch.arange(200)[:, None] * 10_000 ** (-torch.arange(0, width, 2) / width)
        table = torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)
        self.register_buffer("places", table / math.sqrt(width))

    def encode(self, tokens, lengths):
        mask = (torch.arange(tokens.shape[1]) < lengths[:, None])[:, None, None]
        x = self.drop(self.words(tokens) + self.places[: tokens.shape[1]])
        attention, feed_forward = self.encoder
        for _ in range(self.sizes.layers):
            x = self.encoder_norms[0](x + self.drop(attention(x, x, mask)))
            x = self.encoder_norms[1](x + self.drop(feed_forward(x)))
        return x, mask

    def read_out(self, x):
        return x @ self.symbols.weight.T + self.bias

    def forward(self, tokens, lengths, outputs):
        memory, mask = self.encode(tokens, lengths)
        before = functional.pad(outputs[:, :-1], (1, 0))
        steps = before.shape[1]
        causal = torch.ones(steps, steps, dtype=torch.bool).tril()
        x = self.drop(self.symbols(before) + self.places[:steps])
        own, cross, feed_forward = self.decoder
        for _ in range(self.sizes.layers):
            x = self.decoder_norms[0](x + self.drop(own(x, x, causal)))
            x = self.decoder_norms[1](x + self.drop(cross(x, memory, mask)))
            x = self.decoder_norms[2](x + self.drop(feed_forward(x)))
        return self.read_out(x)

    @torch.no_grad()
    def greedy(self, tokens, lengths, steps):
        """The most probable symbols, with cached keys and values, until all sentences end."""
        memory, mask = self.encode(tokens, lengths)
        own, cross, feed_forward = self.decoder
        read = cross.keys_and_values(memory)
        caches = [[] for _ in range(self.sizes.layers)]
        chosen = torch.zeros(len(tokens), dtype=torch.long)
        ended = torch.zeros(len(tokens), dtype=torch.bool)
        written = []
        for t in range(steps):
            x = (self.symbols(chosen) + self.places[t])[:, None]
            for cache in caches:
                new = own.keys_and_values(x)
                cache[:] = (
                    [torch.cat([a, b], dim=2) for a, b in zip(cache, new, strict=True)]
                    if cache
                    else new
                )
                x = self.decoder_norms[0](x + own.read(x, *cache))
                x = self.decoder_norms[1](x + cross.read(x, *read, mask))
                x = self.decoder_norms[2](x + feed_forward(x))
            chosen = self.read_out(x)[:, 0].argmax(dim=1)
            ended |= chosen == 0
            written.append(torch.where(ended, 0, chosen))
            if ended.all():
                break
        return torch.stack(written, dim=1)


def trainer(sizes: Sizes, batch, rate: float, steps: int) -> Callable[[], None]:
    """A function that takes `steps` training steps."""
    model = Universal(sizes).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    tokens, lengths, outputs, output_lengths = (torch.as_tensor(np.array(x)).long() for x in batch)
    counts = torch.arange(outputs.shape[1]) < output_lengths[:, None]

    def go() -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            logits = model(tokens, lengths, outputs)
            functional.cross_entropy(logits[counts], outputs[counts]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()

    return go


def writer(weights: dict[str, np.ndarray], sizes: Sizes, batch, steps: int):
    """A function that decodes a batch with given weights."""
    model = Universal(sizes).eval()
    model.load_state_dict({k: torch.as_tensor(np.array(v)) for k, v in weights.items()},
                          strict=False)  # fmt: skip
    tokens, lengths = (torch.as_tensor(np.array(x)).long() for x in batch[:2])
    return lambda: model.greedy(tokens, lengths, steps)
