"""The trial of the teacher-student studies: learn a modular teacher, then compare."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from recombine import learning, models, probes, splits, tasks
from recombine.lab import Count, NotNegative, Positive, Recorder, Whole, check_intervals


@dataclass(frozen=True)
class Config:
    """Settings of the teacher-student studies."""

    tasks: Literal[
        "D-conn", "D-disc", "D-pairs",
        "C-conn-1", "C-conn-2", "C-disc-1", "C-disc-2", "C-disc-3",
    ] = "D-conn"  # fmt: skip
    """Name of the set of training tasks: discrete (D) or continuous (C), connected or not."""
    rule: Literal["persistent", "reinferred"] = "persistent"
    """Train a table of task latents with the weights, or infer latents anew at every step."""
    width_factor: Count = 2
    """Ratio of the student's hidden units to the teacher's."""
    module_factor: Count = 2
    """Ratio of the student's modules to the teacher's."""
    modules: Count = 6
    """Modules M of the teacher; sets with triples need 6."""
    inputs: Count = 16
    """Input dimensions n."""
    hidden: Count = 16
    """Hidden units h of the teacher."""
    outputs: Count = 4
    """Output dimensions o."""
    sum_to_one: bool = False
    """Whether continuous latents are normalised as in the paper's prose, not as in Algorithm 1."""
    num_tasks: Whole = 60
    """Number of continuous tasks, drawn once, if latents are persistent; tasks per step if they
    are reinferred (0: one per family)."""
    steps: Count = 20_000
    """Steps of learning."""
    batch: Count = 128
    """Inputs per step, if latents are persistent."""
    learning_rate: Positive = 0.01
    """Learning rate at the first step."""
    final_learning_rate: Positive = 1e-5
    """Learning rate at the last step, after cosine annealing."""
    weight_decay: NotNegative = 0.0
    """Decoupled weight decay, if latents are reinferred."""
    inference_steps: Count = 400
    """Number of Adam steps that infer latents."""
    inference_batch: Count = 128
    """Inputs per step of inference, and per step of learning if latents are reinferred."""
    inference_rate: Positive = 0.02
    """Learning rate of inference at its first step."""
    final_inference_rate: Positive = 2e-4
    """Learning rate of inference at its last step, after cosine annealing."""
    test_tasks: Count = 32
    """Tasks per number of modules on which losses are measured."""
    test_inputs: Count = 1024
    """Fresh inputs on which losses are measured."""
    every: Count = 500
    """Steps between two observations of the loss."""

    def __post_init__(self) -> None:
        training_masks(self.tasks, self.modules)  # refuses tasks that do not exist
        check_intervals(self.steps, every=self.every)


def is_discrete(tasks: str) -> bool:
    """Whether a set of training tasks is discrete, by its name."""
    return tasks.startswith("D")


def training_masks(tasks: str, modules: int) -> np.ndarray:
    """The masks of a set of training tasks: those of Table A9, or their analogues for other M.

    Pairs form a ring; with disconnected support they stay within one half of the modules.
    """
    if modules == 6:
        return splits.TASK_SETS[tasks].masks
    singles: list[tuple[int, ...]] = [(m,) for m in range(modules)]
    ring: list[tuple[int, ...]] = [(m, (m + 1) % modules) for m in range(modules)]
    half = modules // 2
    halves: list[tuple[int, ...]] = [
        *combinations(range(half), 2),
        *combinations(range(half, modules), 2),
    ]
    others: dict[str, list[tuple[int, ...]]] = {
        "D-conn": singles + ring, "D-disc": singles + halves, "D-pairs": ring,
        "C-conn-1": ring, "C-disc-1": halves, "C-disc-2": singles,
    }  # fmt: skip
    if tasks not in others:
        raise ValueError(f"{tasks} has 6 modules; with {modules} take {', '.join(others)}")
    return splits.masks_of(others[tasks], modules)


def trial(config: Config, key, recorder: Recorder) -> None:
    """Train a student on some mixtures; measure its alignment, and its loss on all mixtures."""
    import jax
    import jax.numpy as jnp
    from equinox import filter_jit

    teacher_key, student_key, start_key, task_key, rule_key, test_key = jax.random.split(key, 6)
    network = filter_jit(models.ModularNetwork.random)(
        modules=config.modules,
        inputs=config.inputs,
        hidden=config.hidden,
        outputs=config.outputs,
        key=teacher_key,
    )
    masks = jnp.asarray(training_masks(config.tasks, config.modules))
    teacher = tasks.ModularTeacher(network, masks, is_discrete(config.tasks), config.sum_to_one)
    student = filter_jit(network.student)(
        config.width_factor, config.module_factor, key=student_key
    )
    start = jax.random.normal(start_key, (len(student.Theta),))
    rates = config.inference_rate, config.final_inference_rate
    inference = learning.LatentInference(
        config.inference_steps,
        learning.adam(learning.Cosine(*rates, config.inference_steps)),
        config.inference_batch,
    )
    annealed = learning.Cosine(config.learning_rate, config.final_learning_rate, config.steps)
    chunk = 5 * config.every
    if config.rule == "persistent":
        copies = 1 if teacher.discrete else -(-config.num_tasks // len(masks))
        z = filter_jit(teacher.latents_of)(np.tile(masks, (copies, 1)), key=task_key)
        together = learning.persistent_latents(
            teacher, z, learning.adam(annealed), config.steps, batch_size=config.batch, key=rule_key
        )
        untrained = student, jnp.tile(start, (len(z), 1))
        end, seen = recorder.train(
            together, together.init(untrained), config.steps, every=config.every, chunk=chunk
        )
        student, z_hat = end.model
        # The table has left the draw that it began with; its middle is not far from any latent.
        start = z_hat.mean(axis=0)
    else:
        optimizer = learning.adamw(annealed, weight_decay=config.weight_decay)
        anew = learning.reinferred_latents(
            teacher, start, inference, optimizer, config.steps, num_tasks=config.num_tasks,
            key=rule_key,
        )  # fmt: skip
        end, seen = recorder.train(
            anew, anew.init(student), config.steps, every=config.every, chunk=chunk
        )
        student = end.model
        z = filter_jit(teacher.latents)(10 * len(start), key=task_key)
        z_hat = learning.infer_latents(inference, student, teacher, z, start, key=test_key)
    recorder.curve("loss", seen["step"], seen["loss"])

    alignments, losses = filter_jit(alignments_of), filter_jit(losses_of)
    x = filter_jit(teacher.inputs)(config.test_inputs, key=test_key)
    recorder.metric("train_loss", losses(network, student, z, z_hat, x)["loss"].mean())
    aligned = alignments(network, student, z, z_hat)
    recorder.array("alignment", aligned["alignment"])
    report(recorder, aligned)

    tests = []
    for k in range(1, config.modules + 1):
        mixtures = splits.k_hot_masks(config.modules, k)
        mixtures = mixtures[np.arange(config.test_tasks) % len(mixtures)]
        latent_key, inference_key = jax.random.split(jax.random.fold_in(test_key, k))
        z = filter_jit(teacher.on(mixtures).latents_of)(mixtures, key=latent_key)
        z_hat = learning.infer_latents(inference, student, teacher, z, start, key=inference_key)
        unseen = ~(mixtures[:, None] == masks).all(axis=2).any(axis=1)
        found = losses(network, student, z, z_hat, x)
        tests.append({"z": z, "z_hat": z_hat, "unseen": unseen, **found})
        relative = np.asarray(found["relative"])
        recorder.metric(f"ood_relative_k{k}", relative.mean())
        if unseen.any():
            recorder.metric(f"ood_relative_k{k}_unseen", relative[unseen].mean())
    test = {name: np.concatenate([t[name] for t in tests]) for name in tests[0]}
    report(recorder, alignments(network, student, test["z"], test["z_hat"]), "ood_")
    for name in ("loss", "relative"):
        recorder.metric(f"ood_{name}", test[name][test["unseen"]].mean())


def losses_of(network, student, z, z_hat, x) -> dict[str, Any]:
    """Losses of the student with latents ẑ on tasks z, one value per task."""
    y_hat, y = student(z_hat, x), network(z, x)
    return {
        "loss": learning.task_losses(y_hat, y),
        "relative": probes.relative_loss(y_hat, y),
    }


def alignments_of(network, student, z, z_hat) -> dict[str, Any]:
    """Similarity of the student's neurons to the teacher's, with F fitted on the given latents."""
    F = probes.latent_map(z, z_hat)
    modules = network.Theta, student.Theta, F
    generated = network.weights(z), student.weights(z_hat)
    return {
        "alignment": probes.module_alignment(*modules),
        "alignment_published_code": probes.module_alignment(
            *modules, absolute=False, unit_modules=True
        ),
        "alignment_by_module": probes.alignment_by_module(*modules),
        "alignment_generated": probes.generated_alignment(*generated),
        "alignment_generated_by_task": probes.generated_alignment(*generated, matched_by_task=True),
    }


def report(recorder: Recorder, alignments: dict[str, Any], prefix: str = "") -> None:
    """Report alignment, the minimum over the teacher's neurons, with its mean and maximum."""
    for name, neurons in alignments.items():
        recorder.metric(f"{prefix}{name}", np.min(neurons))
    neurons = alignments["alignment"]
    recorder.metric(f"{prefix}alignment_mean", np.mean(neurons))
    recorder.metric(f"{prefix}alignment_max", np.max(neurons))
