"""SCAN: the commands are the published ones, and so are the splits."""

from collections import Counter
from itertools import product

import jax
import numpy as np
import pytest

from recombine import tasks
from recombine.tasks._scan_language import scan_tokens

KEY = jax.random.key(0)
COMMANDS = tasks.scan_commands()
NAMES = np.array(list(COMMANDS))
TOKENS = scan_tokens()
JUMP = tasks.add_primitive_split()

# How many commands ask for so many actions, in the published set.
LENGTHS = {
    1: 6, 2: 88, 3: 398, 4: 860, 5: 1184, 6: 1178, 7: 1104, 8: 1450, 9: 1256, 10: 1696, 11: 1072,
    12: 1578, 13: 432, 14: 848, 15: 688, 16: 304, 17: 512, 18: 784, 19: 448, 20: 464, 21: 64,
    22: 576, 24: 336, 25: 448, 26: 512, 27: 448, 28: 448, 30: 576, 32: 448, 33: 256, 36: 64,
    40: 256, 48: 128,
}  # fmt: skip


def lines(split, part="train"):
    """The commands of a part, one a line."""
    return np.repeat(NAMES, getattr(split, part))


def published_bytes(commands):
    """The size of a file in the published format."""
    return sum(len(f"IN: {command} OUT: {COMMANDS[command]}\n") for command in commands)


def interpret(words):
    """What a command means, read from its last word backwards: slow and independent."""
    for joint in ("and", "after"):
        if joint in words:
            at = words.index(joint)
            x, y = interpret(words[:at]), interpret(words[at + 1 :])
            return x + y if joint == "and" else y + x
    if words[-1] in ("twice", "thrice"):
        return interpret(words[:-1]) * {"twice": 2, "thrice": 3}[words[-1]]
    act = [] if words[0] == "turn" else [f"I_{words[0].upper()}"]
    if len(words) == 1:
        return act
    turn = f"I_TURN_{words[-1].upper()}"
    if len(words) == 2:
        return [turn, *act]
    return {"opposite": [turn, turn, *act], "around": [turn, *act] * 4}[words[1]]


@pytest.mark.parametrize(
    ("command", "actions"),
    [
        ("walk", "WALK"),
        ("look", "LOOK"),
        ("turn left", "LEFT"),
        ("run right", "RIGHT RUN"),
        ("jump opposite left", "LEFT LEFT JUMP"),
        ("turn opposite right", "RIGHT RIGHT"),
        ("walk around right", "RIGHT WALK RIGHT WALK RIGHT WALK RIGHT WALK"),
        ("turn around left", "LEFT LEFT LEFT LEFT"),
        ("jump left twice", "LEFT JUMP LEFT JUMP"),
        ("turn right thrice", "RIGHT RIGHT RIGHT"),
        ("look twice and walk left", "LOOK LOOK LEFT WALK"),
        ("run left after look", "LOOK LEFT RUN"),
        ("turn left twice after jump", "JUMP LEFT LEFT"),
        ("jump opposite left after walk around left",
         "LEFT WALK LEFT WALK LEFT WALK LEFT WALK LEFT LEFT JUMP"),
        ("turn opposite left twice after jump around right thrice",
         " ".join(["RIGHT JUMP"] * 12 + ["LEFT"] * 4)),
    ],
)  # fmt: skip
def test_every_construct_means_what_it_should(command, actions):
    def full(word):
        return f"I_TURN_{word}" if word in ("LEFT", "RIGHT") else f"I_{word}"

    assert COMMANDS[command] == " ".join(map(full, actions.split()))


def test_all_commands_mean_what_a_second_interpreter_says():
    assert all(" ".join(interpret(c.split())) == actions for c, actions in COMMANDS.items())


def test_the_set_has_the_size_and_the_lengths_of_the_published_one():
    assert len(COMMANDS) == 20_910
    assert Counter((TOKENS.output_lengths - 1).tolist()) == LENGTHS
    assert (TOKENS.input_lengths.max() - 1, TOKENS.output_lengths.max() - 1) == (9, 48)
    assert published_bytes(COMMANDS) == 4_080_388


def test_numbers_stand_for_the_words():
    assert (len(tasks.SCAN_WORDS), len(tasks.SCAN_ACTIONS)) == (14, 7)
    assert (TOKENS.inputs.shape, TOKENS.outputs.shape) == ((20_910, 10), (20_910, 49))
    some = slice(0, None, 97)
    assert tasks.SCAN_WORDS.decode(TOKENS.inputs[some]) == list(NAMES[some])
    assert tasks.SCAN_ACTIONS.decode(TOKENS.outputs[some]) == [COMMANDS[c] for c in NAMES[some]]
    for tokens, length in zip(TOKENS[::2], TOKENS[1::2], strict=True):
        np.testing.assert_array_equal((tokens > 0).sum(axis=1) + 1, length)


@pytest.mark.parametrize(
    ("split", "sizes", "published"),
    [
        (tasks.length_split(), (16_990, 3_920), (2_723_418, 1_356_970)),
        (JUMP, (14_670, 7_706), (2_579_619, 1_531_555)),
        (tasks.add_primitive_split("turn left"), (21_890, 1_208), (3_974_537, 173_679)),
    ],
    ids=["length", "jump", "turn left"],
)
def test_splits_have_the_lines_and_bytes_of_the_published_files(split, sizes, published):
    for part, size, content in zip(("train", "test"), sizes, published, strict=True):
        assert split.size(part) == size
        assert published_bytes(lines(split, part)) == content


@pytest.mark.parametrize(
    ("longest", "tested"), [(24, 3584), (25, 3136), (26, 2624), (30, 1152), (33, 448), (40, 128)]
)
def test_other_lengths_can_be_cut_at(longest, tested):
    split = tasks.length_split(longest)
    assert (split.size("train"), split.size("test")) == (20_910 - tested, tested)


def test_a_simple_split_is_a_random_one_of_the_published_size():
    split, other = (tasks.simple_split(key=jax.random.key(i)) for i in (0, 1))
    assert (split.size("train"), split.size("test")) == (16_728, 4_182)
    assert (split.train + split.test == 1).all()
    assert (split.train != other.train).any()


def test_a_primitive_is_trained_alone_and_tested_in_combinations():
    trained, tested = Counter(lines(JUMP)), Counter(lines(JUMP, "test"))
    assert trained.pop("jump") == 1467
    assert set(trained.values()) == {1}
    assert not any("jump" in command for command in trained)
    assert all("jump" in command and len(command.split()) > 1 for command in tested)
    assert sum(command.count("jump") == 2 for command in tested) == 882
    assert len(set(trained) | set(tested) | {"jump"}) == 20_910
    left = Counter(lines(tasks.add_primitive_split("turn left")))
    assert left.pop("turn left") == 2189
    assert set(left.values()) == {1}


def test_deduplicated_and_united_splits_have_every_command_once():
    dedup, united = JUMP.deduplicated(), JUMP.united()
    assert (dedup.size("train"), dedup.size("test")) == (13_204, 7_706)
    assert (united.size("train"), united.size("test")) == (20_910, 7_706)
    assert dedup.train.max() == united.train.max() == 1
    assert (united.train[united.test > 0] == 1).all()


def test_a_masked_split_tests_what_it_trains():
    masked = JUMP.masked(key=KEY)
    assert (masked.size("train"), masked.size("test")) == (14_670, 7_706)
    assert (masked.train[masked.test > 0] > 0).all()
    assert not any("jump" in command for command in set(lines(masked)) | set(lines(masked, "test")))
    # 1,467 lines of `jump`, each for one of three, beside the one that each had.
    counts = [masked.train[list(NAMES).index(verb)] - 1 for verb in ("walk", "run", "look")]
    assert sum(counts) == 1467
    assert all(abs(count - 489) < 90 for count in counts)


def test_every_replacement_of_a_tested_command_is_trained():
    trained = set(lines(JUMP))
    replacements = 0
    for command in lines(JUMP, "test"):
        places = command.split("jump")
        for verbs in product(("walk", "run", "look"), repeat=len(places) - 1):
            pairs = zip(places, (*verbs, ""), strict=True)
            assert "".join(place + verb for place, verb in pairs) in trained
            replacements += 1
    # The number that a count over the published file gives.
    assert replacements == 3 * (7_706 - 882) + 9 * 882 == 28_410


def test_masking_replaces_occurrences_one_by_one():
    masked = JUMP.masked(key=KEY)
    twice = [c for c in lines(masked, "test") if " and " in c and len(c.split()) == 3]
    pairs = Counter(tuple(c.split(" and ")) for c in twice)
    assert sum(pairs.values()) == 7  # jump and jump, jump and another, another and jump
    assert ("jump", "jump") not in pairs


def test_held_out_commands_are_neither_trained_nor_tested_in_any_setting():
    held = JUMP.hold_out(400, key=KEY)
    assert (held.size("train"), held.size("iid"), held.size("test")) == (14_270, 400, 7_706)
    assert held.train[NAMES == "jump"] == 1467
    for split in (held, held.deduplicated(), held.united(), held.masked(key=KEY)):
        kept = split.iid > 0
        assert kept.sum() == 400
        assert split.train[kept].sum() == split.test[kept].sum() == 0
    masked = held.masked(key=KEY)
    assert (masked.train[masked.test > 0] > 0).all()


def test_lines_are_drawn_as_often_as_they_are_there():
    task = tasks.Scan(JUMP.hold_out(50, key=KEY))
    batch = task.sample(20_000, key=KEY)
    alone = np.asarray(batch.input_lengths == 2)
    assert abs(alone.mean() - 1470 / 14_620) < 0.01
    drawn = set(tasks.SCAN_WORDS.decode(np.unique(batch.inputs, axis=0)))
    assert drawn <= set(lines(JUMP))
    assert len(drawn) > 9000
    tested = tasks.SCAN_WORDS.decode(np.unique(task.sample(20_000, "test", key=KEY).inputs, axis=0))
    assert set(tested) <= set(lines(JUMP, "test"))


def test_all_lines_of_a_part_come_with_their_actions():
    task = tasks.Scan(JUMP.hold_out(50, key=KEY))
    batch = task.lines("iid")
    commands = tasks.SCAN_WORDS.decode(batch.inputs)
    assert len(set(commands)) == 50
    assert tasks.SCAN_ACTIONS.decode(batch.outputs) == [COMMANDS[c] for c in commands]
    assert len(task.lines().inputs) == 14_620


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: tasks.add_primitive_split("turn"), "'turn' is no command"),
        (lambda: tasks.length_split(48), "longest must lie in 1 to 47"),
        (lambda: tasks.simple_split(20_910, key=KEY), "use fewer"),
        (lambda: JUMP.hold_out(20_000, key=KEY), "cannot hold out 20000 of 13203"),
        (lambda: JUMP.masked("left", ("twice",), key=KEY), "does not give a command"),
        (lambda: tasks.Scan(JUMP).lines("iid"), "no lines of 'iid', only of train, test"),
    ],
)
def test_impossible_splits_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()


SIZES = {
    22: (15292, 1698, 3920), 24: (15594, 1732, 3584), 25: (15997, 1777, 3136),
    26: (16458, 1828, 2624), 27: (16861, 1873, 2176), 28: (17264, 1918, 1728),
    30: (17783, 1975, 1152), 32: (18186, 2020, 704), 33: (18416, 2046, 448),
    36: (18474, 2052, 384), 40: (18704, 2078, 128),
}  # fmt: skip


def test_resplits_by_output_length_have_the_published_sizes():
    lengths = np.asarray(tasks.Scan(tasks.simple_split(key=KEY)).sentences.output_lengths) - 1
    for longest, sizes in SIZES.items():
        split = tasks.length_resplit(longest)
        assert (split.size("train"), split.size("iid"), split.size("test")) == sizes
        assert (split.train + split.iid + split.test == 1).all()
        assert lengths[split.test > 0].min() > longest >= lengths[split.train > 0].max()


def test_resplits_can_leave_words_out():
    split = tasks.length_resplit(8, without=("around", "opposite"))
    assert (split.size("train"), split.size("iid"), split.size("test")) == (2695, 299, 576)
    commands = list(tasks.scan_commands())
    used = [c for c, n in zip(commands, split.train + split.iid + split.test, strict=True) if n]
    assert not any("around" in c or "opposite" in c for c in used)
    with pytest.raises(ValueError, match="leaves no commands to train, or none to test"):
        tasks.length_resplit(12, without=("around", "opposite"))
