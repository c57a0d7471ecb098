"""Tasks of bAbI about people, rooms and objects: 1 to 3 and 5 to 14."""

from collections.abc import Callable
from random import Random
from typing import Any

from ._babi_world import GO, PEOPLE, PRONOUNS, ROOMS, World
from ._stories import Story

TIMES = ("yesterday", "this morning", "this afternoon", "this evening")
COUNTS = ("none", "one", "two", "three")


def single_fact(random: Random) -> Story:
    """Task 1: where is somebody who has moved?"""
    world = World(random)
    for _ in range(5):
        world.move()
        world.move()
        person = random.choice(sorted(world.seen_in))
        room, line = world.seen_in[person]
        world.ask(f"Where is {person}", room, line)
    return world.story(1)


def two_facts(random: Random) -> Story:
    """Task 2: where is an object that somebody carries?"""
    world, since = World(random), 0
    while world.questions < 5:
        since += random_act(world)
        known = [item for item in world.holder if world.holder[item] in world.seen_in]
        if since >= 3 and known and random.random() < 0.5:
            item = random.choice(sorted(known))
            room, seen = world.seen_in[world.holder[item]]
            world.ask(f"Where is the {item}", room, world.got[item], seen)
            since = 0
    return world.story(2)


def three_facts(random: Random) -> Story:
    """Task 3: where was an object before it was elsewhere?"""
    world, since = World(random), 0
    while world.questions < 5:
        since += random_act(world)
        if since < 3 or random.random() < 0.5:
            continue
        asked = []
        for item, history in world.places.items():
            rooms = [room for room, _ in history]
            for i in range(1, len(history)):
                support = history[i - 1][1] | history[i][1]
                # Of several stays in a room the last one is meant.
                if rooms[i] not in rooms[i + 1 :] and len(support) == 3:
                    asked.append((item, rooms[i], rooms[i - 1], support))
        if asked:
            item, room, before, support = random.choice(asked)
            world.ask(f"Where was the {item} before the {room}", before, *support)
            since = 0
    return world.story(3)


def random_act(world: World, gives: bool = False) -> int:
    """Something happens; the number of sentences that tell it."""
    acts: list[Callable[[], Any]] = [world.move, world.move, world.get, world.drop]
    acts += [world.give] * gives
    return 1 if world.random.choice(acts)() else random_act(world, gives)


def three_arguments(random: Random) -> Story:
    """Task 5: who gave what to whom?"""
    world = World(random)
    while world.questions < 5:
        random_act(world)
        given = world.give() if random.random() < 0.5 else None
        if given is None:
            continue
        giver, item, taker, line = given
        for _ in range(random.randint(0, 5)):
            world.move()
        question, answer = random.choice(
            (
                (f"What did {giver} give to {taker}", item),
                (f"Who received the {item}", taker),
                (f"Who did {giver} give the {item} to", taker),
                (f"Who gave the {item} to {taker}", giver),
                (f"Who gave the {item}", giver),
            )
        )
        world.ask(question, answer, line)
    return world.story(5)


def yes_no(random: Random) -> Story:
    """Task 6: is somebody in a room?"""
    world = World(random)
    for _ in range(5):
        world.move()
        world.move()
        person = random.choice(sorted(world.seen_in))
        room, line = world.seen_in[person]
        ask_whether(world, person, room, line)
    return world.story(6)


def ask_whether(world: World, person: str, room: str, line: int) -> None:
    """Ask whether somebody is in a room, who is; or in another one."""
    true = world.random.random() < 0.5
    asked = room if true else world.random.choice([r for r in ROOMS if r != room])
    world.ask(f"Is {person} in the {asked}", "yes" if true else "no", line)


def _holding(random: Random, task: int) -> Story:
    world, since = World(random), 0
    while world.questions < 5:
        since += random_act(world, gives=True)
        actors = [person for person in PEOPLE if world.acted[person]]
        if since < 2 or not actors:
            continue
        since, person = 0, random.choice(actors)
        items = world.carried[person]
        if task == 7:
            question, answer = f"How many objects is {person} holding", COUNTS[len(items)]
        else:
            question, answer = f"What is {person} holding", ",".join(items) or "nothing"
        world.ask(question, answer, *world.acted[person])
    return world.story(task)


def counting(random: Random) -> Story:
    """Task 7: how many objects is somebody holding?"""
    return _holding(random, 7)


def lists(random: Random) -> Story:
    """Task 8: which objects is somebody holding?"""
    return _holding(random, 8)


def negation(random: Random) -> Story:
    """Task 9: is somebody in a room, of whom it may be said where they are not?"""
    world, told = World(random), dict[str, tuple[str, bool, int]]()
    for _ in range(5):
        for _ in range(2):
            person = random.choice(PEOPLE)
            known = told.get(person)
            kind = random.choice(("move", "is", "not"))
            if kind == "not" and known and known[1]:
                words = "is no longer in" if random.random() < 0.5 else "is not in"
                line = world.say(f"{person} {words} the {known[0]}")
                told[person] = known[0], False, line
            else:
                room = random.choice([r for r in ROOMS if not known or r != known[0]])
                verb = random.choice(GO) if kind == "move" else "is in"
                told[person] = room, True, world.say(f"{person} {verb} the {room}")
        person = random.choice(sorted(told))
        room, there, line = told[person]
        if there:
            ask_whether(world, person, room, line)
        else:
            world.ask(f"Is {person} in the {room}", "no", line)
    return world.story(9)


def indefinite(random: Random) -> Story:
    """Task 10: is somebody in a room, who may be in one of two?"""
    world, told = World(random), dict[str, tuple[tuple[str, ...], int]]()
    for _ in range(5):
        for _ in range(2):
            person = random.choice(PEOPLE)
            rooms = tuple(random.sample(ROOMS, random.choice((1, 1, 2))))
            if len(rooms) == 2:
                text = f"{person} is either in the {rooms[0]} or the {rooms[1]}"
            else:
                text = f"{person} {random.choice((*GO, 'is in'))} the {rooms[0]}"
            told[person] = rooms, world.say(text)
        person = random.choice(sorted(told))
        rooms, line = told[person]
        if random.random() < 0.5:
            asked, answer = random.choice(rooms), "yes" if len(rooms) == 1 else "maybe"
        else:
            asked, answer = random.choice([r for r in ROOMS if r not in rooms]), "no"
        world.ask(f"Is {person} in the {asked}", answer, line)
    return world.story(10)


def _after(random: Random) -> str:
    return random.choice(("After that", "Following that", "Then", "Afterwards"))


def coreference(random: Random) -> Story:
    """Task 11: where is somebody who was called he or she?"""
    world = World(random)
    for _ in range(5):
        person = random.choice(PEOPLE)
        first = world.move(person)
        room = random.choice([r for r in ROOMS if r != world.rooms[person]])
        verb = random.choice(GO)
        line = world.say(f"{_after(random)} {PRONOUNS[person]} {verb} the {room}")
        world.arrive(person, room, line)
        other = random.choice(sorted(world.seen_in))
        where, seen = world.seen_in[other]
        # Who is meant by a pronoun, the sentence before it says.
        lines = {seen} if world.lines[seen - 1].text.startswith(other) else {seen - 1, seen}
        world.ask(f"Where is {other}", where, *lines, *([first] if other == person else []))
    return world.story(11)


def _together(world: World, people: list[str], subject: str, rooms: list[str]) -> str:
    room = world.random.choice(rooms)
    line = world.say(f"{subject} {world.random.choice(GO)} the {room}")
    for person in people:
        world.arrive(person, room, line)
    return room


def conjunction(random: Random) -> Story:
    """Task 12: where is one of two people who went together?"""
    world = World(random)
    for _ in range(5):
        people: list[str] = []
        for _ in range(2):
            pair = random.sample(PEOPLE, 2)
            _together(world, pair, " and ".join(pair), list(ROOMS))
            people += pair
        person = random.choice(people)
        room, line = world.seen_in[person]
        world.ask(f"Where is {person}", room, line)
    return world.story(12)


def compound_coreference(random: Random) -> Story:
    """Task 13: where is one of two people who were called they?"""
    world = World(random)
    for _ in range(5):
        pair = random.sample(PEOPLE, 2)
        room = _together(world, pair, " and ".join(pair), list(ROOMS))
        first = len(world.lines)
        _together(world, pair, f"{_after(random)} they", [r for r in ROOMS if r != room])
        person = random.choice(pair)
        where, line = world.seen_in[person]
        world.ask(f"Where is {person}", where, first, line)
    return world.story(13)


def time(random: Random) -> Story:
    """Task 14: where was somebody before, where sentences are not in the order of time?"""
    world = World(random)
    facts = [
        (person, when, room)
        for person in random.sample(PEOPLE, 3)
        for when, room in enumerate(random.sample(ROOMS, len(TIMES)))
    ]
    random.shuffle(facts)
    known: dict[str, dict[int, tuple[str, int]]] = {}
    while world.questions < 5:
        for _ in range(min(2, len(facts))):
            person, when, room = facts.pop()
            words = TIMES[when].capitalize()
            line = world.say(f"{words} {person} {random.choice(GO)} the {room}")
            known.setdefault(person, {})[when] = room, line
        asked = [
            (person, *places[now], *places[before])
            for person, places in known.items()
            for before, now in zip(sorted(places), sorted(places)[1:], strict=False)
        ]
        if asked:
            person, room, line, before, earlier = random.choice(asked)
            world.ask(f"Where was {person} before the {room}", before, earlier, line)
    return world.story(14)
