"""The differentiable neural computer of `dnc.py`, written plainly in PyTorch."""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

EPSILON = 1e-6


class Sizes(NamedTuple):
    inputs: int
    outputs: int
    units: int
    cells: int
    word: int
    heads: int


class DNC(nn.Module):
    """With masked lookups, de-allocation and sharp links, and an LSTM as controller."""

    def __init__(self, sizes: Sizes):
        super().__init__()
        self.sizes = sizes
        w, r = sizes.word, sizes.heads
        self.parts = [r * w, r, w, 1, w, w, r, 1, 1, 3 * r, w, r * w, r, r]
        self.lstm = nn.LSTMCell(sizes.inputs + r * w, sizes.units)
        self.interface = nn.Linear(sizes.units, sum(self.parts))
        self.says = nn.Linear(sizes.units, sizes.outputs)
        self.reads = nn.Linear(r * w, sizes.outputs)
        self.register_buffer("off_diagonal", 1 - torch.eye(sizes.cells))

    @staticmethod
    def lookup(memory, keys, strengths, masks):
        keys = keys * masks
        rows = memory[:, None] * masks[:, :, None]
        products = (rows @ keys[..., None])[..., 0]
        norms = keys.norm(dim=-1, keepdim=True) * rows.norm(dim=-1)
        return (products / (norms + EPSILON) * strengths[..., None]).softmax(-1)

    @staticmethod
    def allocation(usage):
        usage, order = (usage * (1 - EPSILON) + EPSILON).sort(dim=-1)
        taken = F.pad(usage.cumprod(-1)[:, :-1], (1, 0), value=1.0)
        return torch.zeros_like(usage).scatter(1, order, (1 - usage) * taken)

    @staticmethod
    def sharpen(d, power):
        d = d + EPSILON
        d = (d / d.amax(-1, keepdim=True)) ** power[..., None]
        return d / d.sum(-1, keepdim=True)

    def forward(self, x):
        b, time, _ = x.shape
        n, w, r = self.sizes.cells, self.sizes.word, self.sizes.heads
        zeros = lambda *shape: torch.zeros(b, *shape)  # noqa: E731
        memory, usage, links = zeros(n, w), zeros(n), zeros(n, n)
        precedence, written, read, words = zeros(n), zeros(n), zeros(r, n), zeros(r * w)
        state, ys = (zeros(self.sizes.units), zeros(self.sizes.units)), []
        for t in range(time):
            state = self.lstm(torch.cat([x[:, t], words], 1), state)
            asked = self.interface(state[0]).clamp(-20, 20).split(self.parts, 1)
            keys, strengths, key, strength, erase, vector, free = asked[:7]
            allocate, write, modes, mask, masks, forward, backward = asked[7:]
            kept = (1 - free.sigmoid()[..., None] * read).prod(1)
            last = written.detach()
            usage = (usage + last - usage * last) * kept
            found = self.lookup(
                memory, key[:, None], 1 + F.softplus(strength), mask.sigmoid()[:, None]
            )[:, 0]
            gate = allocate.sigmoid()
            written = write.sigmoid() * (gate * self.allocation(usage) + (1 - gate) * found)
            memory = memory * kept[..., None]
            memory = memory * (1 - written[..., None] * erase.sigmoid()[:, None])
            memory = memory + written[..., None] * vector[:, None]
            links = (1 - written[..., None] - written[:, None]) * links
            links = (links + written[..., None] * precedence[:, None]) * self.off_diagonal
            precedence = (1 - written.sum(1, keepdim=True)) * precedence + written
            ahead = self.sharpen(read @ links.transpose(1, 2), 1 + F.softplus(forward))
            back = self.sharpen(read @ links, 1 + F.softplus(backward))
            content = self.lookup(
                memory, keys.view(b, r, w), 1 + F.softplus(strengths),
                masks.sigmoid().view(b, r, w),
            )  # fmt: skip
            modes = modes.view(b, r, 3).softmax(-1)
            read = modes[..., :1] * back + modes[..., 1:2] * content + modes[..., 2:] * ahead
            words = (read @ memory).flatten(1)
            ys.append(self.says(state[0]) + self.reads(words))
        return torch.stack(ys, 1)


def stepper(sizes, x, target, rate, steps):
    """A function that takes `steps` training steps."""
    torch.manual_seed(0)
    x, target = map(torch.from_numpy, (x, target))
    model = DNC(sizes)
    optimizer = torch.optim.RMSprop(model.parameters(), rate, momentum=0.9, eps=1e-10)

    def go() -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(x), target, reduction="sum") / len(x)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()

    return go
