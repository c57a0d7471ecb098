"""Students that fit all training tasks and fail on new ones (Section A.2.2, Figure A1).

Each lacks one assumption of Theorem 9. All are NumPy in double precision.
"""

from dataclasses import dataclass
from string import ascii_lowercase

import jax
import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from scipy.stats import qmc

from ._multitask_identification import latent_map

Modules = Float[np.ndarray, "modules hidden inputs"]
Readout = Float[np.ndarray, "outputs hidden"]


@dataclass(frozen=True, eq=False)
class Counterexample:
    """A teacher, a student that fits it on the training tasks, and tasks that were not trained."""

    Theta: Modules
    """The teacher's modules."""
    a: Readout
    """The teacher's readout."""
    Theta_hat: Modules
    """The student's modules."""
    a_hat: Readout
    """The student's readout."""
    masks: Bool[np.ndarray, "families modules"]
    """Which modules training tasks mix."""
    train: Float[np.ndarray, "tasks modules"]
    """Training tasks z."""
    train_hat: Float[np.ndarray, "tasks student_modules"]
    """The student's latents ẑ that solve the training tasks."""
    ood: Float[np.ndarray, "ood_tasks modules"]
    """New tasks z."""

    def respond(
        self, z: Float[ArrayLike, " modules"], x: Float[ArrayLike, "samples inputs"]
    ) -> Float[np.ndarray, "samples outputs"]:
        """The teacher's outputs, a ψ(W(Θ, z) x)."""
        return _respond(self.Theta, self.a, z, x)

    def loss(
        self,
        z: Float[ArrayLike, " modules"],
        z_hat: Float[ArrayLike, " student_modules"],
        x: Float[ArrayLike, "samples inputs"],
    ) -> float:
        """½ E ‖f̂(x; ẑ) - f(x; z)‖² (Eq. 4)."""
        error = _respond(self.Theta_hat, self.a_hat, z_hat, x) - self.respond(z, x)
        return float(0.5 * np.mean(np.sum(error**2, axis=-1)))

    def train_loss(self, x: Float[ArrayLike, "samples inputs"]) -> float:
        """The largest loss on a training task."""
        pairs = zip(self.train, self.train_hat, strict=True)
        return max(self.loss(z, z_hat, x) for z, z_hat in pairs)

    def best_latent(
        self,
        z: Float[ArrayLike, " modules"],
        x: Float[ArrayLike, "samples inputs"],
        *,
        key: PRNGKeyArray,
        starts: int = 10,
    ) -> tuple[Float[np.ndarray, " student_modules"], float]:
        """The ẑ with which the student comes closest to the task, and its loss.

        The loss is not convex in ẑ: a least-squares solver (Levenberg-Marquardt) starts from F z,
        see `latent_map`, and from random points.
        """
        F = latent_map(self.Theta, self.a, self.Theta_hat, self.a_hat)
        guesses = jax.random.normal(key, (starts, len(self.Theta_hat)))
        ends = [
            self._descend(z, start, np.asarray(x, float))
            for start in (F @ np.asarray(z, float), *np.asarray(guesses, float))
        ]
        return min(ends, key=lambda end: end[1])

    def _descend(self, z, start, x) -> tuple[np.ndarray, float]:
        target = self.respond(z, x)
        drive = np.einsum("pn,mhn->phm", x, self.Theta_hat)

        def error(z_hat):
            return (np.maximum(drive @ z_hat, 0) @ self.a_hat.T - target).ravel()

        def slope(z_hat):
            active = (drive @ z_hat > 0)[..., None] * drive
            return np.einsum("oh,phm->pom", self.a_hat, active).reshape(-1, len(z_hat))

        end = least_squares(error, start, slope, method="lm", ftol=1e-6, xtol=1e-6)
        return end.x, float(end.cost / len(x))

    def table(self) -> str:
        """What each neuron holds in each module, teacher beside student, as in Figure A1.

        A weight vector of the teacher has a letter, down the neurons of one module after another.
        Where the student holds the same vector it has the same letter; 0 is no weight, · any other.
        """
        known = [row for module in self.Theta for row in module if row.any()]
        letters = dict(zip(range(len(known)), ascii_lowercase, strict=False))

        def name(row: np.ndarray) -> str:
            if not row.any():
                return "0"
            same = [i for i, w in enumerate(known) if np.allclose(w, row, atol=1e-12)]
            return f"W_{letters.get(same[0], same[0])}" if same else "·"

        def lines(who: str, Theta: Modules) -> list[str]:
            head = [f"{who:<9}", *(f"m = {m + 1}" for m in range(len(Theta)))]
            rows = [
                [f"neuron {j + 1:<2}", *(name(module[j]) for module in Theta)]
                for j in range(Theta.shape[1])
            ]
            return ["  ".join(f"{cell:<5}" for cell in row).rstrip() for row in (head, *rows)]

        return "\n".join([*lines("teacher", self.Theta), *lines("student", self.Theta_hat)])


def _respond(Theta, a, z, x) -> np.ndarray:
    W = np.tensordot(np.asarray(z, float), Theta, 1)
    return np.maximum(np.asarray(x, float) @ W.T, 0) @ a.T


def spread_inputs(
    n: int, *, key: PRNGKeyArray, log2_samples: int = 14
) -> Float[np.ndarray, "samples {n}"]:
    """Inputs that are uniform on [-√3, √3]^n and evenly spread: a scrambled Sobol sequence.

    Averages over them are those over the distribution to about 0.1 % in a few dimensions, where as
    many independent draws would be off by some per cent.
    """
    rng = np.random.default_rng(np.asarray(jax.random.bits(key, (4,))))
    return np.sqrt(3) * (2 * qmc.Sobol(n, rng=rng).random_base2(log2_samples) - 1)


def family_latents(
    masks: Bool[ArrayLike, "families modules"],
) -> Float[np.ndarray, "tasks modules"]:
    """d + 1 tasks in general position for every family: its mask, and with each entry halved."""
    tasks = []
    for mask in np.asarray(masks, float):
        halved = mask * (1 - 0.5 * np.eye(len(mask)))
        tasks += [mask, *halved[mask > 0]]
    return np.array(tasks)


def _built(Theta, a, Theta_hat, a_hat, masks, ood) -> Counterexample:
    """A student with the teacher's number of modules, which solves training tasks with ẑ = z."""
    train = family_latents(masks)
    return Counterexample(
        np.array(Theta, float),
        np.array(a, float),
        np.array(Theta_hat, float),
        np.array(a_hat, float),
        masks=np.array(masks, bool),
        train=train,
        train_hat=train,
        ood=np.array(ood, float),
    )


def wider_student(
    vectors: Float[ArrayLike, "3 inputs"] | None = None, readout: float = 1.0
) -> Counterexample:
    """A student wider than its teacher (ĥ = 3, h = 1); support is connected and compositional.

    One teacher neuron (A|B|C) is trained on modules 1 and 2, and on 2 and 3. The student has
    neurons (A|B|0), (0|B|C) and (0|B|0), the last one with negative readout. By
    default A, B and C are unit vectors.
    """
    A, B, C = np.eye(3) if vectors is None else np.asarray(vectors, float)
    zero = np.zeros_like(A)
    return _built(
        [[A], [B], [C]],
        [[readout]],
        [[A, zero, zero], [B, B, B], [zero, C, zero]],
        [[readout, readout, -readout]],
        masks=[[1, 1, 0], [0, 1, 1]],
        ood=[[1, 1, 1], [1, 0, 1]],
    )


def disconnected_tasks(
    vectors: Float[ArrayLike, "4 inputs"] | None = None, readout: float = 1.0
) -> Counterexample:
    """Two modules that are never mixed in training: the student joins their neurons crosswise.

    The teacher has neurons (A|B) and (C|D), the student (A|D) and (C|B). By default they are
    unit vectors.
    """
    A, B, C, D = np.eye(4) if vectors is None else np.asarray(vectors, float)
    a = [[readout, readout]]
    return _built([[A, C], [B, D]], a, [[A, C], [D, B]], a, masks=[[1, 0], [0, 1]], ood=[[1, 1]])


_FIGURE_A1 = np.array(
    [
        [[2.0, 1.0], [-1.0, 2.0], [-1.0, -2.0]],
        [[1.0, -1.0], [2.0, 2.0], [-2.0, 1.0]],
        [[-2.0, -1.0], [1.0, 3.0], [2.0, -1.0]],
    ]
)
_ORDERS = ((1, 2, 0), (0, 2, 1), (2, 0, 1))
"""For each module, the teacher's neurons in the student's order: neuron 2 of module 3 is W_g."""


def figure_a1(*, consistent: bool) -> Counterexample:
    """Figure A1: three modules, two inputs, three hidden neurons.

    In panel A (`consistent=False`) each task uses one module, and the student holds each with its
    own order of the neurons. In panel B (`consistent=True`) tasks share modules, and the student's
    order is the same in all of them.
    """
    Theta = _FIGURE_A1.reshape(3, 3, 2)
    orders = (_ORDERS[0],) * 3 if consistent else _ORDERS
    student = [module[list(order)] for module, order in zip(Theta, orders, strict=True)]
    masks = [[1, 1, 0], [0, 1, 1]] if consistent else np.eye(3)
    ood = [[1, 0, 1], [1, 1, 1]] if consistent else [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]]
    return _built(Theta, np.ones((1, 3)), student, np.ones((1, 3)), masks=masks, ood=ood)


def unseen_module(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    a: Float[ArrayLike, "outputs hidden"],
    content: Float[ArrayLike, "hidden inputs"],
) -> Counterexample:
    """The last module never occurs in training: a student fits whatever its last module holds.

    **Arguments:**

    - `Theta`, `a`: the teacher, with two modules or more.
    - `content`: what the student holds in place of the last module.
    """
    Theta, a = np.asarray(Theta, float), np.asarray(a, float)
    M = len(Theta)
    if M < 2:
        raise ValueError("a teacher with one module has none left to train: give two or more")
    seen = np.arange(M) < M - 1
    new = np.zeros(M)
    new[-2:] = 1
    student = [*Theta[:-1], np.asarray(content, float)]
    return _built(Theta, a, student, a, masks=[seen], ood=[new])


def memorising_student(
    Theta: Float[ArrayLike, "modules hidden inputs"],
    train: Float[ArrayLike, "tasks modules"],
    ood: Float[ArrayLike, "ood_tasks modules"],
    *,
    consistent: bool,
) -> Counterexample:
    """A student with one module for each training task (condition iii of Section 3).

    Its module t is the first layer W(Θ, z_t) of task t. If the neurons stand in the same order in
    all of them (`consistent=True`), mixtures of its modules are still those of the teacher,
    W(Θ, Σ ẑ_t z_t), and it generalizes. If the order differs from task to task, here shifted by t,
    it does not.

    **Arguments:**

    - `Theta`: the teacher's modules. All its readouts are 1, which makes the order arbitrary.
    - `train`: the training tasks, at most as many as neurons, so that no two are stored in the
        same order.
    - `ood`: the new tasks.
    """
    Theta, train = np.asarray(Theta, float), np.asarray(train, float)
    hidden = Theta.shape[1]
    if len(train) > hidden:
        raise ValueError(
            f"{len(train)} training tasks for {hidden} neurons: two would be stored in the same "
            "order; give fewer tasks or more neurons"
        )
    layers = np.tensordot(train, Theta, 1)
    student = [np.roll(W, 0 if consistent else t, axis=0) for t, W in enumerate(layers)]
    readout = np.ones((1, hidden))
    return Counterexample(
        Theta, readout, np.array(student), readout,
        masks=train != 0, train=train, train_hat=np.eye(len(train)), ood=np.asarray(ood, float),
    )  # fmt: skip
