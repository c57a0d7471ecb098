"""Tasks of bAbI about facts: 4 and 15 to 20."""

from itertools import pairwise
from random import Random

from ._babi_world import ROOMS, Telling
from ._stories import Story

STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
KINDS = {"mouse": "mice", "sheep": "sheep", "wolf": "wolves", "cat": "cats"}
DEDUCED = ("Gertrude", "Winona", "Jessica", "Emily")
INDUCED = ("Lily", "Bernhard", "Greg", "Julius", "Brian")
ANIMALS, COLORS = ("swan", "lion", "frog", "rhino"), ("gray", "white", "yellow", "green")
SHAPES, TINTS = ("triangle", "square", "rectangle", "sphere"), ("red", "blue", "pink", "yellow")
SIDES = {"above": (0, 1), "below": (0, -1), "to the left of": (-1, 0), "to the right of": (1, 0)}
THINGS = ("chocolate", "box of chocolates", "treasure chest", "box", "suitcase", "container")
"""Things from the smallest to the largest."""
MOTIVES = {
    "hungry": ("kitchen", "apple"), "thirsty": ("kitchen", "milk"),
    "bored": ("garden", "football"), "tired": ("bedroom", "pajamas"),
}  # fmt: skip
MOVED = ("Jason", "Antoine", "Sumit", "Yann")


def _stated(telling: Telling, one: str, way: str, other: str) -> int:
    """Say that a room lies in a direction of another, or the converse."""
    if telling.random.random() < 0.5:
        return telling.say(f"The {one} is {way} of the {other}")
    return telling.say(f"The {other} is {OPPOSITE[way]} of the {one}")


def two_arguments(random: Random) -> Story:
    """Task 4: which room lies in a direction of another?"""
    telling = Telling(random)
    rooms, way = random.sample(ROOMS, 3), random.choice(sorted(STEPS))
    pairs = list(pairwise(rooms))
    random.shuffle(pairs)
    told = [(one, other, _stated(telling, one, way, other)) for one, other in pairs]
    one, other, line = random.choice(told)
    question, answer = random.choice(
        (
            (f"What is the {one} {way} of", other),
            (f"What is {way} of the {other}", one),
            (f"What is the {other} {OPPOSITE[way]} of", one),
            (f"What is {OPPOSITE[way]} of the {one}", other),
        )
    )
    telling.ask(question, answer, line)
    return telling.story(4)


def deduction(random: Random) -> Story:
    """Task 15: what is somebody afraid of, if all of their kind are?"""
    telling, lines = Telling(random), dict[str, int]()
    kinds = dict(zip(DEDUCED, random.sample(sorted(KINDS), 4), strict=True))
    fears = {kind: random.choice([k for k in KINDS if k != kind]) for kind in KINDS}
    facts = {name: f"{name} is a {kind}" for name, kind in kinds.items()}
    facts |= {k: f"{KINDS[k].capitalize()} are afraid of {KINDS[f]}" for k, f in fears.items()}
    for subject in random.sample(sorted(facts), len(facts)):
        lines[subject] = telling.say(facts[subject])
    for name in random.sample(DEDUCED, 4):
        kind = kinds[name]
        telling.ask(f"What is {name} afraid of", fears[kind], lines[name], lines[kind])
    return telling.story(15)


def induction(random: Random) -> Story:
    """Task 16: what color is somebody, if another one of their kind has one?"""
    telling = Telling(random)
    colors = dict(zip(ANIMALS, random.sample(COLORS, 4), strict=True))
    animals = {name: random.choice(ANIMALS) for name in INDUCED}
    # Five of four kinds: two of them are alike.
    shared = [n for n in INDUCED if list(animals.values()).count(animals[n]) > 1]
    asked = random.choice(shared)
    facts = [(name, f"{name} is a {animal}") for name, animal in animals.items()]
    facts += [
        (name, f"{name} is {colors[animal]}") for name, animal in animals.items() if name != asked
    ]
    random.shuffle(facts)
    told = [(name, telling.say(text)) for name, text in facts]
    other = next(n for n in shared if n != asked and animals[n] == animals[asked])
    support = [line for name, line in told if name in (asked, other)]
    telling.ask(f"What color is {asked}", colors[animals[asked]], *support)
    return telling.story(16)


def positions(random: Random) -> Story:
    """Task 17: is a shape on a side of another one?"""
    telling = Telling(random)
    names = [
        f"{random.choice(TINTS)} {shape}" if random.random() < 0.5 else shape
        for shape in random.sample(SHAPES, 3)
    ]
    places, ways = [(0, 0)], []
    while len(places) < 3:
        way = random.choice(sorted(SIDES))
        x, y = places[-1][0] + SIDES[way][0], places[-1][1] + SIDES[way][1]
        if (x, y) not in places:
            places.append((x, y))
            ways.append(way)
    for (one, other), way in zip(pairwise(names), ways, strict=True):
        telling.say(f"The {other} is {way} the {one}")
    at = dict(zip(names, places, strict=True))
    for _ in range(8):
        one, other = random.sample(names, 2)
        way = random.choice(sorted(SIDES))
        difference = [a - b for a, b in zip(at[one], at[other], strict=True)]
        along = sum(d * s for d, s in zip(difference, SIDES[way], strict=True))
        telling.ask(f"Is the {one} {way} the {other}", "yes" if along > 0 else "no", 1, 2)
    return telling.story(17)


def sizes(random: Random) -> Story:
    """Task 18: which of two things is bigger, if both were compared with a third?"""
    telling, lines = Telling(random), dict[tuple[str, str], int]()
    chain = sorted(random.sample(THINGS, 5), key=THINGS.index)
    pairs = list(pairwise(chain))
    random.shuffle(pairs)
    for small, big in pairs:
        inside = random.random() < 0.5
        text = f"The {small} fits inside the {big}" if inside else ""
        lines[small, big] = telling.say(text or f"The {big} is bigger than the {small}")
    for place in random.sample(range(3), 3):
        small, middle, big = chain[place : place + 3]
        one, other = random.sample((small, big), 2)
        if random.random() < 0.5:
            question, true = f"Is the {one} bigger than the {other}", one == big
        else:
            question, true = f"Does the {one} fit in the {other}", one == small
        support = lines[small, middle], lines[middle, big]
        telling.ask(question, "yes" if true else "no", *support)
    return telling.story(18)


def path_finding(random: Random) -> Story:
    """Task 19: how does one go from one room to another?"""
    telling = Telling(random)
    rooms = random.sample(ROOMS, 5)
    places, edges = {rooms[0]: (0, 0)}, []
    while len(places) < 5:
        room = rooms[len(places)]
        # The first three are the path; the others lie anywhere beside what there is.
        start = rooms[len(places) - 1] if len(places) < 3 else random.choice(sorted(places))
        way = random.choice(sorted(STEPS))
        x, y = places[start]
        place = x + STEPS[way][0], y + STEPS[way][1]
        if place not in places.values():
            places[room] = place
            edges.append((room, way, start))
    lines = {}
    for edge in random.sample(edges, len(edges)):
        lines[edge] = _stated(telling, *edge)
    path = edges[:2]
    answer = ",".join(way[0] for _, way, _ in path)
    question = f"How do you go from the {rooms[0]} to the {rooms[2]}"
    telling.ask(question, answer, *(lines[edge] for edge in path))
    return telling.story(19)


def motivations(random: Random) -> Story:
    """Task 20: where will somebody go, and why did they?"""
    telling = Telling(random)
    motives = dict(zip(MOVED, random.sample(sorted(MOTIVES), 4), strict=True))
    stage, lines = dict.fromkeys(MOVED, 0), dict[str, int]()
    while any(done < 3 for done in stage.values()):
        name = random.choice([n for n in MOVED if stage[n] < 3])
        motive = motives[name]
        room, item = MOTIVES[motive]
        if stage[name] == 0:
            lines[name] = telling.say(f"{name} is {motive}")
            telling.ask(f"Where will {name} go", room, lines[name])
        elif stage[name] == 1:
            telling.say(f"{name} {random.choice(('went to', 'moved to'))} the {room}")
            telling.ask(f"Why did {name} go to the {room}", motive, lines[name])
        else:
            telling.say(f"{name} {random.choice(('got', 'took', 'grabbed'))} the {item} there")
            telling.ask(f"Why did {name} get the {item}", motive, lines[name])
        stage[name] += 1
    return telling.story(20)
