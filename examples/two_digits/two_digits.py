"""A small network of PyTorch that tells the left of two digits, and a report on what it uses.

In training the right digit is the same as the left one, or the next: it hints at the answer.

python examples/two_digits/two_digits.py
"""

import jax
import numpy as np
import torch

import recombine
from recombine import tasks

TASK = tasks.PairedImages()
LEFT, RIGHT = np.asarray(TASK.parts()).astype(bool).transpose(0, 3, 1, 2)  # masks of pixels


def arrays(pairs):
    """Images [items, channel, rows, columns] and the table of their factors."""
    x = np.asarray(pairs.x).reshape(-1, 8, 16, 1).transpose(0, 3, 1, 2)
    factors = {"left": np.ravel(pairs.labels), "right": np.ravel(pairs.second_labels)}
    return np.ascontiguousarray(x), factors


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(32 * 1 * 5, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10),
    )  # fmt: skip


def train(model, steps=300):
    x, factors = arrays(TASK.sample(4096, key=jax.random.key(0)))
    images, labels = torch.from_numpy(x), torch.tensor(factors["left"].tolist())
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(steps):
        batch = torch.randint(len(labels), (64,))
        loss = torch.nn.functional.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def examined(model):
    # Test images: 200 left digits, each beside 10 right ones of any class.
    x, factors = arrays(TASK.partners(200, 10, test=True, key=jax.random.key(1)))
    return recombine.examine(
        model, x, factors,
        targets="left",
        train=(factors["right"] - factors["left"]) % 10 < 2,
        parts={"left": LEFT, "right": RIGHT},
        layers=["2", "4", "7"],
        title="A CNN on two digits",
    )  # fmt: skip


if __name__ == "__main__":
    torch.manual_seed(0)
    report = examined(train(network()))
    print(report)
    print(report.html("two-digits.html"))
