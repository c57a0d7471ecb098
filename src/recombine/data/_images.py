"""Image data sets as arrays: handwritten digits, MNIST files, synthetic prototypes."""

import gzip
import math
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray


class ImageData(eqx.Module):
    """Labelled images, flattened.

    Pixels of the real data sets here are scaled to [0, 1] and not normalised further; `normalised`
    does that.
    """

    train_images: Float[Array, "train pixels"]
    train_labels: Int[Array, " train"]
    test_images: Float[Array, "test pixels"]
    test_labels: Int[Array, " test"]
    shape: tuple[int, int] | tuple[int, int, int] = eqx.field(static=True)
    """Rows and columns of an image, and channels if it has colours (the last to vary fastest)."""
    classes: int = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def __check_init__(self):
        pixels = math.prod(self.shape)
        for part in ("train", "test"):
            images, labels = getattr(self, f"{part}_images"), getattr(self, f"{part}_labels")
            if images.ndim != 2 or images.shape[1] != pixels or labels.shape != images.shape[:1]:
                raise ValueError(
                    f"{self.name}: {part} images {images.shape} and labels {labels.shape} do not "
                    f"fit images of {' x '.join(map(str, self.shape))} pixels"
                )


def normalised(data: ImageData) -> ImageData:
    """The images with mean 0 and standard deviation 1 over training images, in each channel.

    Test images are shifted and scaled by the numbers of the training images.
    """
    channels = data.shape[2] if len(data.shape) == 3 else 1
    train = np.asarray(data.train_images).reshape(-1, channels)
    mean, std = train.mean(0, dtype=np.float64), train.std(0, dtype=np.float64)
    std = np.where(std > 0, std, 1)

    def scaled(images: Array) -> Array:
        flat = (images.reshape(-1, channels) - mean.astype(images.dtype)) / std.astype(images.dtype)
        return flat.reshape(images.shape)

    return eqx.tree_at(lambda d: (d.train_images, d.test_images), data, replace_fn=scaled)


def resized(data: ImageData, side: int) -> ImageData:
    """The same images with `side` rows and columns, fewer than they have.

    Every new pixel is the mean over the area that it covers: average pooling, where `side` divides
    the size, and with the fractions of pixels that it covers where it does not.
    """
    if not 1 <= side <= min(data.shape[:2]):
        size = " x ".join(map(str, data.shape[:2]))
        raise ValueError(f"side={side} is not between 1 and the size of the images, {size}")
    means = [_covered(side, size).astype(np.float32) for size in data.shape[:2]]

    def averaged(images: Array) -> Array:
        pixels = np.asarray(images).reshape(-1, *data.shape[:2], math.prod(data.shape[2:]))
        small = np.einsum("yr,xc,nrcp->nyxp", *means, pixels, optimize=True)
        return jnp.asarray(small.reshape(len(pixels), -1), images.dtype)

    return ImageData(
        train_images=averaged(data.train_images),
        train_labels=data.train_labels,
        test_images=averaged(data.test_images),
        test_labels=data.test_labels,
        shape=(side, side, *data.shape[2:]),
        classes=data.classes,
        name=data.name,
    )


def _covered(side: int, size: int) -> np.ndarray:
    """The fraction of new pixel i that old pixel j makes up: [side, size]."""
    edges = np.arange(side + 1) * size / side
    old = np.arange(size)
    overlap = np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old)
    return np.maximum(overlap, 0) * side / size


def digits() -> ImageData:
    """The 8 x 8 handwritten digits that ship with scikit-learn: 1,297 to train, 500 to test.

    The test images are 50 of each class, spaced evenly over the file, whose images of one writer
    stand together. Both parts keep the order of the file, in which the classes are mixed.
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, labels = (bunch.data / 16).astype(np.float32), bunch.target.astype(np.int32)
    test = np.zeros(len(labels), bool)
    for c in range(10):
        of_class = np.flatnonzero(labels == c)
        test[of_class[np.arange(50) * len(of_class) // 50]] = True
    return ImageData(
        train_images=jnp.asarray(images[~test]),
        train_labels=jnp.asarray(labels[~test]),
        test_images=jnp.asarray(images[test]),
        test_labels=jnp.asarray(labels[test]),
        shape=(8, 8),
        classes=10,
        name="digits",
    )


_MNIST_FILES = {
    "train_images": "train-images-idx3-ubyte",
    "train_labels": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}


def mnist(directory: str | Path) -> ImageData:
    """MNIST, read from the four files of its distribution (IDX format), gzipped or not.

    Any data set in the same four files (Fashion-MNIST, KMNIST) is read as well.

    **Arguments:**

    - `directory`: the folder that holds `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`,
        `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`, each with or without `.gz`.

    **Raises:** `FileNotFoundError` naming the missing files; `ValueError` for a file that is not
    what its name says.
    """
    directory = Path(directory)
    found = {part: _find(directory, stem) for part, stem in _MNIST_FILES.items()}
    missing = [_MNIST_FILES[part] for part, path in found.items() if path is None]
    if missing:
        raise FileNotFoundError(
            f"MNIST needs {', '.join(missing)} (or the same with .gz) in {directory}"
        )
    arrays = {part: _read_idx(path) for part, path in found.items() if path is not None}
    for part in ("train", "test"):
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels):
            raise ValueError(
                f"{found[f'{part}_images']} holds {images.shape} and "
                f"{found[f'{part}_labels']} {labels.shape}: not images and their labels"
            )
    if arrays["train_images"].shape[1:] != arrays["test_images"].shape[1:]:
        raise ValueError(f"train and test images in {directory} differ in size")
    rows, columns = arrays["train_images"].shape[1:]

    def flat(images: np.ndarray) -> Array:
        return jnp.asarray(images.reshape(len(images), -1).astype(np.float32) / np.float32(255))

    return ImageData(
        train_images=flat(arrays["train_images"]),
        train_labels=jnp.asarray(arrays["train_labels"].astype(np.int32)),
        test_images=flat(arrays["test_images"]),
        test_labels=jnp.asarray(arrays["test_labels"].astype(np.int32)),
        shape=(rows, columns),
        classes=int(arrays["train_labels"].max()) + 1,
        name="mnist",
    )


def _find(directory: Path, stem: str) -> Path | None:
    for name in (stem, stem + ".gz"):
        if (directory / name).is_file():
            return directory / name
    return None


def _read_idx(path: Path) -> np.ndarray:
    """An IDX file of unsigned bytes: magic 0, 0, 8, ndim; ndim big-endian sizes; the bytes."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    ndim = 3 if "idx3" in path.name else 1
    if raw[:4] != bytes((0, 0, 8, ndim)):
        raise ValueError(f"{path} is not an IDX file of unsigned bytes with {ndim} dimensions")
    header = 4 + 4 * ndim
    sizes = tuple(int(n) for n in np.frombuffer(raw[4:header], ">u4"))
    if len(sizes) != ndim or len(raw) - header != math.prod(sizes):
        raise ValueError(f"{path} announces {sizes} values and holds {len(raw) - header} bytes")
    return np.frombuffer(raw, np.uint8, offset=header).reshape(sizes)


def prototypes(
    *,
    key: PRNGKeyArray,
    classes: int = 10,
    shape: tuple[int, int] = (8, 8),
    train: int = 1000,
    test: int = 500,
    noise: float = 0.3,
) -> ImageData:
    """Synthetic images: one prototype per class, uniform in [0, 1], plus Gaussian pixel noise.

    **Arguments:**

    - `classes`, `shape`: the number of prototypes, and their size.
    - `train`, `test`: how many images; classes take turns.
    - `noise`: standard deviation of the noise. The sum is clipped to [0, 1].
    """
    # Drawn on the host: for one draw per run, compiling would not pay.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    centres = rng.random((classes, math.prod(shape)))

    def draw(size: int) -> tuple[Array, Array]:
        labels = np.arange(size, dtype=np.int32) % classes
        images = rng.normal(centres[labels], noise)
        return jnp.asarray(np.clip(images, 0, 1), jnp.float32), jnp.asarray(labels)

    train_images, train_labels = draw(train)
    test_images, test_labels = draw(test)
    return ImageData(
        train_images=train_images,
        train_labels=train_labels,
        test_images=test_images,
        test_labels=test_labels,
        shape=shape,
        classes=classes,
        name="prototypes",
    )


def template_mixtures(
    *,
    key: PRNGKeyArray,
    classes: int = 10,
    templates: int = 5,
    shape: tuple[int, int] | tuple[int, int, int] = (8, 8),
    train: int = 5000,
    test: int = 1000,
    noise: float = 0.225,
) -> ImageData:
    """Synthetic images that are hard to tell apart: every class is a mixture of templates.

    Templates are Gaussian with variance 1 per pixel, and an image is one of its class's templates
    plus Gaussian noise. With the default noise a network with one hidden layer that has seen 5,000
    images classifies 50 to 70 % correctly, at 64 pixels and at 192.

    **Arguments:**

    - `classes`, `templates`, `shape`: the number of classes, templates per class, and their size.
    - `train`, `test`: how many images; classes take turns.
    - `noise`: standard deviation of the noise, relative to the length √pixels of a template.
    """
    # Drawn on the host: for one draw per run, compiling would not pay.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())
    pixels = math.prod(shape)
    centres = rng.normal(size=(classes, templates, pixels))

    def draw(size: int) -> tuple[Array, Array]:
        labels = np.arange(size, dtype=np.int32) % classes
        of_class = centres[labels, rng.integers(templates, size=size)]
        images = rng.normal(of_class, noise * pixels**0.5)
        return jnp.asarray(images, jnp.float32), jnp.asarray(labels)

    train_images, train_labels = draw(train)
    test_images, test_labels = draw(test)
    return ImageData(
        train_images=train_images,
        train_labels=train_labels,
        test_images=test_images,
        test_labels=test_labels,
        shape=shape,
        classes=classes,
        name="template mixtures",
    )
