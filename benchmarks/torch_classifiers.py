"""The sequence classifiers of `sequence_classifiers.py`, written plainly in PyTorch."""

from functools import partial
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F


class Sizes(NamedTuple):
    vocabulary: int
    classes: int
    length: int
    width: int
    hidden: int
    heads: int
    layers: int
    dropout: float
    attention_dropout: float = 0.1
    embedding_dropout: float = 0.1
    gate_dropout: float = 0.1


def offsets_to_sources(scores: torch.Tensor) -> torch.Tensor:
    """[..., N, 2 N - 1] by offset to [..., N, N] by source."""
    n = scores.shape[-2]
    flat = F.pad(scores, (0, 1)).flatten(-2)[..., n - 1 : -1]
    return flat.unflatten(-1, (n, 2 * n - 1))[..., :n]


def sinusoids(positions: torch.Tensor, width: int) -> torch.Tensor:
    rates = 10_000.0 ** (-torch.arange(0, width, 2) / width)
    angles = positions[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class Attention(nn.Module):
    """Plain, relative, mixed or geometric."""

    def __init__(self, sizes: Sizes, kind: str, normalised: bool = False):
        super().__init__()
        d, h = sizes.width, sizes.heads
        self.heads, self.kind, self.normalised = h, kind, normalised
        self.q = nn.Linear(d, d, bias=kind == "geometric")
        self.kv = nn.Linear(d, 2 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.scale = nn.Parameter(torch.tensor((d // h) ** -0.5))
        if kind in ("relative", "mixed"):
            self.position = nn.Linear(d, d, bias=False)
            self.u = nn.Parameter(torch.zeros(h, 1, d // h))
            self.v = nn.Parameter(torch.zeros(h, 1, d // h))
            places = sinusoids(torch.arange(1 - sizes.length, sizes.length), d)
            self.register_buffer("places", places)
        if kind == "mixed":
            self.gate = nn.Linear(d, h)
        if kind == "geometric":
            self.direction = nn.Linear(d, 2 * h)
            self.beta = nn.Parameter(torch.ones(()))
            self.gamma = nn.Parameter(torch.zeros(()))
            i, j = torch.arange(sizes.length)[:, None], torch.arange(sizes.length)
            self.register_buffer("right", (j > i))
            distance = (i - j).abs()
            last = (i + distance - (j > i).long()).clamp(max=sizes.length - 1)
            self.register_buffer("last", last)
            self.register_buffer("first", i - distance)
        self.drop = nn.Dropout(sizes.attention_dropout)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        h = self.heads
        heads = lambda y: y.view(b, n, h, -1).transpose(1, 2)  # noqa: E731
        q = heads(self.q(x))
        k, v = map(heads, self.kv(x).chunk(2, dim=-1))
        if self.kind == "plain":
            weights = (q @ k.transpose(-1, -2) * self.scale.detach()).masked_fill(mask, -torch.inf)
            weights = self.drop(weights.softmax(-1))
        elif self.kind == "geometric":
            weights = self.geometric(x, q @ self.drop(k).transpose(-1, -2), mask)
        else:
            places = self.drop(self.position(self.places).view(-1, h, d // h).transpose(0, 1))
            by_offset = (q + self.v) @ places.transpose(-1, -2)
            position = offsets_to_sources(by_offset)
            if self.kind == "mixed":
                gate = heads(torch.sigmoid(self.gate(x)))
                position = gate * position + (1 - gate) * by_offset[..., n - 1 :]
            content = (q + self.u) @ self.drop(k).transpose(-1, -2)
            weights = ((content + position) * self.scale).masked_fill(mask, -torch.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d))

    def geometric(self, x, content, mask):
        b, n, _ = x.shape
        right, left = self.direction(x).view(b, n, 2, self.heads).permute(2, 0, 3, 1)[..., None]
        direction = torch.where(self.right, right, left)
        logits = self.scale * content + self.beta * direction + self.gamma
        unread = mask | torch.eye(n, dtype=torch.bool)
        logits = logits.masked_fill(unread, -1e9)
        matches, misses = F.logsigmoid(logits), F.logsigmoid(-logits)
        sums = F.pad(misses.cumsum(-1), (1, 0))
        last = (self.last + 1).expand_as(logits)
        first = (self.first + 1).clamp(min=0).expand_as(logits)
        weights = (matches + sums.gather(-1, last) - sums.gather(-1, first)).exp()
        return weights / weights.sum(-1, keepdim=True) if self.normalised else weights


class Residual(nn.Module):
    def __init__(self, sizes: Sizes, attention: Attention):
        super().__init__()
        d, width = sizes.width, sizes.hidden
        self.attention, self.drop = attention, nn.Dropout(sizes.dropout)
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.inner, self.outer = nn.Linear(d, width), nn.Linear(width, d)

    def forward(self, x, mask):
        x = self.norm1(x + self.drop(self.attention(x, mask)))
        return self.norm2(x + self.drop(self.outer(self.drop(F.relu(self.inner(x))))))


class Gated(nn.Module):
    def __init__(self, sizes: Sizes, attention: Attention, norm: bool, residual: bool = False):
        super().__init__()
        d, width = sizes.width, sizes.hidden
        self.gate_rate = sizes.gate_dropout
        self.attention, self.residual = attention, residual
        self.drop = nn.Dropout(sizes.dropout)
        self.norm, self.finish = nn.LayerNorm(d), nn.LayerNorm(d) if norm else nn.Tanh()
        self.inner, self.outer = nn.Linear(d, width), nn.Linear(width, d)
        self.gate1, self.gate2 = nn.Linear(d, d), nn.Linear(d, d)
        nn.init.constant_(self.gate2.bias, -3.0)

    def forward(self, x, mask):
        a = self.norm(x + self.drop(self.attention(x, mask)))
        if self.residual:
            data = self.finish(self.outer(F.gelu(self.inner(a))) + a)
            gate = torch.sigmoid(self.gate2(F.gelu(self.gate1(a))))
        else:
            data = self.finish(self.outer(self.drop(F.relu(self.inner(a)))))
            gate = torch.sigmoid(self.gate2(self.drop(F.relu(self.gate1(a)))))
        open_ = torch.rand(*gate.shape[:2], 1) >= self.gate_rate
        gate = gate * open_
        return gate * data + (1 - gate) * x


class Encoder(nn.Module):
    def __init__(self, sizes: Sizes, layer: nn.Module, absolute=False):
        super().__init__()
        d, self.layers = sizes.width, sizes.layers
        self.embedding, self.layer = nn.Embedding(sizes.vocabulary + 1, d), layer
        self.readout, self.absolute = nn.Linear(d, sizes.classes), absolute
        self.register_buffer("places", sinusoids(torch.arange(sizes.length), d))
        self.drop = nn.Dropout(sizes.embedding_dropout)

    def forward(self, tokens, lengths):
        x = self.embedding(tokens)
        x = self.drop(x + self.places) if self.absolute else x
        mask = (torch.arange(tokens.shape[1]) >= lengths[:, None])[:, None, None]
        for _ in range(self.layers):
            x = self.layer(x, mask)
        return self.readout(x[torch.arange(len(x)), lengths - 1])


class Recurrent(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        d = sizes.width
        self.embedding, self.drop = nn.Embedding(sizes.vocabulary + 1, d), nn.Dropout(sizes.dropout)
        self.lstm = nn.LSTM(d, d, batch_first=True, bidirectional=True)
        self.readout = nn.Linear(2 * d, sizes.classes)

    def forward(self, tokens, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.drop(self.embedding(tokens)), lengths, batch_first=True, enforce_sorted=False
        )
        _, (hidden, _) = self.lstm(packed)
        return self.readout(hidden.transpose(0, 1).flatten(1))


def residual(sizes, kind, **options) -> Encoder:
    attention = Attention(sizes, kind, **options)
    return Encoder(sizes, Residual(sizes, attention), absolute=kind == "plain")


def gated(sizes, kind, **options) -> Encoder:
    return Encoder(sizes, Gated(sizes, Attention(sizes, kind), **options))


ROWS = {
    "Transformer": partial(residual, kind="plain"),
    "+ rel": partial(residual, kind="relative"),
    "+ geom.": partial(residual, kind="geometric", normalised=True),
    "+ rel + gate": partial(gated, kind="relative", norm=False),
    "+ abs/rel + gate": partial(gated, kind="mixed", norm=False),
    "NDR": partial(gated, kind="geometric", norm=True),
    "NDR of CTL++": partial(gated, kind="geometric", norm=True, residual=True),
    "Bi-LSTM": Recurrent,
}


def stepper(name, sizes, batch, rate, steps):
    """A function that takes `steps` training steps."""
    torch.manual_seed(0)
    tokens, lengths, labels = map(torch.from_numpy, batch)
    model = ROWS[name](sizes)
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)

    def go() -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            F.cross_entropy(model(tokens, lengths), labels).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return go
