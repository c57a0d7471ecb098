import jax
import jax.numpy as jnp
import numpy as np
import pytest

from recombine.lab import checkpoint


@pytest.fixture
def tree():
    return {"w": jnp.arange(6.0).reshape(2, 3), "n": jnp.asarray(3), "key": jax.random.key(7)}


def test_a_checkpoint_comes_back_as_it_was_written(tmp_path, tree):
    curves = {"step": np.arange(3), "loss": np.array([3.0, 2.0, 1.0], np.float32)}
    path = checkpoint.save(tmp_path, 40, tree, curves)
    step, restored, seen = checkpoint.load(path, tree)
    assert step == 40
    assert np.array_equal(restored["w"], tree["w"])
    assert restored["n"].dtype == tree["n"].dtype
    assert jax.random.uniform(restored["key"]) == jax.random.uniform(tree["key"])
    assert seen["loss"].dtype == np.float32
    assert np.array_equal(seen["loss"], curves["loss"])


def test_only_the_last_two_are_kept(tmp_path, tree):
    for step in (10, 20, 30):
        checkpoint.save(tmp_path, step, tree)
    assert [p.name for p in sorted(tmp_path.iterdir())] == [
        "000000000020.ckpt",
        "000000000030.ckpt",
    ]


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "garbage"])
def test_a_damaged_checkpoint_is_detected_and_the_one_before_it_used(tmp_path, tree, damage):
    checkpoint.save(tmp_path, 10, tree)
    newest = checkpoint.save(tmp_path, 20, jax.tree.map(lambda x: x, tree))
    content = bytearray(newest.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    elif damage == "truncate":
        content = content[: len(content) // 2]
    elif damage == "empty":
        content = bytearray()
    else:
        content = bytearray(b"not a checkpoint\n" * 10)
    newest.write_bytes(content)
    with pytest.raises(checkpoint.Damaged):
        checkpoint.load(newest, tree)
    found = checkpoint.latest(tmp_path, tree)
    assert found is not None
    assert found[0] == 10


def test_damaged_checkpoints_of_later_steps_do_not_push_out_the_one_that_is_written(tmp_path, tree):
    checkpoint.save(tmp_path, 10, tree)
    for step in (30, 40):
        (tmp_path / f"{step:012d}.ckpt").write_bytes(b"garbage")
    checkpoint.save(tmp_path, 20, tree)
    found = checkpoint.latest(tmp_path, tree)
    assert found is not None
    assert found[0] == 20
    assert [p.name for p in sorted(tmp_path.iterdir())] == [
        "000000000010.ckpt",
        "000000000020.ckpt",
    ]


def test_a_checkpoint_of_another_structure_is_not_taken(tmp_path, tree):
    checkpoint.save(tmp_path, 10, tree)
    assert checkpoint.latest(tmp_path, {**tree, "w": jnp.zeros((3, 3))}) is None
    assert checkpoint.latest(tmp_path, {"w": tree["w"]}) is None


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "file"
    checkpoint.write_atomically(path, b"old")
    with pytest.raises(TypeError):
        checkpoint.write_atomically(path, "not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_array_comes_from_the_template(tmp_path, tree):
    def other(x):
        return x

    tree = tree | {"function": abs, "size": 3}
    path = checkpoint.save(tmp_path, 10, tree)
    _, restored, _ = checkpoint.load(path, tree | {"function": other, "size": 4})
    assert (restored["function"], restored["size"]) == (other, 4)
    assert np.array_equal(restored["w"], tree["w"])
