"""Reads stories of bAbI and answers their questions, from the words alone.

It shares nothing with what tells them: every sentence is matched by a pattern, and every question
is answered from the sentences before it.
"""

import re
from collections import deque

GO = r"(?:went to|moved to|journeyed to|travelled to|went back to) the (\w+)"
NAME = r"([A-Z]\w+)"
OFFSETS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
SIDES = {"above": (0, 1), "below": (0, -1), "to the left of": (-1, 0), "to the right of": (1, 0)}
SINGULAR = {"mice": "mouse", "sheep": "sheep", "wolves": "wolf", "cats": "cat"}
WHEN = ["Yesterday", "This morning", "This afternoon", "This evening"]
HOLDS = {
    "hungry": ("kitchen", "apple"), "thirsty": ("kitchen", "milk"),
    "bored": ("garden", "football"), "tired": ("bedroom", "pajamas"),
}  # fmt: skip


class Reader:
    def __init__(self):
        self.place = {}  # person to the rooms they may be in, or to ("not", room)
        self.held = {}  # person to objects
        self.stays = {}  # object to rooms in their order
        self.gifts = []
        self.subjects = []
        self.relations = []
        self.facts = {}
        self.times = {}

    def read(self, text):
        rules = [
            (rf"{NAME} (?:got|took|grabbed|picked up) the (\w+)(?: there)?\.", self.got),
            (rf"{NAME} (?:dropped|put down|discarded|left) the (\w+)\.", self.dropped),
            (rf"{NAME} (?:gave|handed|passed) the (\w+) to {NAME}\.", self.gave),
            (rf"{NAME} and {NAME} {GO}\.", lambda a, b, room: self.went([a, b], room)),
            (rf"(?:After that|Following that|Then|Afterwards) (?:he|she|they) {GO}\.",
             lambda room: self.went(self.subjects, room)),
            (rf"({'|'.join(WHEN)}) {NAME} {GO}\.", self.dated),
            (rf"{NAME} {GO}\.", lambda a, room: self.went([a], room)),
            (rf"{NAME} is either in the (\w+) or the (\w+)\.", self.either),
            (rf"{NAME} is (?:not|no longer) in the (\w+)\.", self.absent),
            (rf"{NAME} is in the (\w+)\.", lambda a, room: self.went([a], room)),
            (r"The (.+) is (north|south|east|west) of the (.+)\.", self.relates),
            (rf"The (.+) is ({'|'.join(SIDES)}) the (.+)\.", self.relates),
            (r"The (.+) is bigger than the (.+)\.", lambda a, b: self.relates(b, "<", a)),
            (r"The (.+) fits inside the (.+)\.", lambda a, b: self.relates(a, "<", b)),
            (r"(\w+) are afraid of (\w+)\.", self.fears),
            (rf"{NAME} is an? (\w+)\.", self.facts.setdefault),
            (rf"{NAME} is (\w+)\.", lambda a, what: self.facts.setdefault((a, "is"), what)),
        ]  # fmt: skip
        for pattern, rule in rules:
            found = re.fullmatch(pattern, text)
            if found:
                rule(*found.groups())
                return
        raise AssertionError(f"not understood: {text}")

    def went(self, people, room):
        self.subjects = people
        for person in people:
            self.place[person] = (room,)
            for item in self.held.get(person, ()):
                self.stay(item, room)

    def stay(self, item, room):
        rooms = self.stays.setdefault(item, [])
        if rooms[-1:] != [room]:
            rooms.append(room)

    def got(self, person, item):
        self.held.setdefault(person, []).append(item)
        where = self.place.get(person, ())
        if len(where) == 1:
            self.stay(item, where[0])

    def dropped(self, person, item):
        if item in self.held.get(person, ()):  # support may leave out how it was got
            self.held[person].remove(item)

    def gave(self, giver, item, taker):
        self.dropped(giver, item)
        self.got(taker, item)
        self.gifts.append((giver, item, taker))

    def dated(self, when, person, room):
        self.times.setdefault(person, {})[WHEN.index(when)] = room

    def either(self, person, one, other):
        self.place[person] = (one, other)

    def absent(self, person, room):
        self.place[person] = ("not", room)

    def relates(self, one, way, other):
        self.relations.append((one, way, other))

    def fears(self, kind, other):
        self.facts[SINGULAR[kind.lower()], "fears"] = SINGULAR[other]

    def answer(self, text):
        rules = [
            (rf"Where is {NAME}\?", lambda a: self.only(self.place[a])),
            (r"Where is the (\w+)\?", self.where_is),
            (r"Where was the (\w+) before the (\w+)\?", self.before),
            (rf"Where was {NAME} before the (\w+)\?", self.earlier),
            (rf"Is {NAME} in the (\w+)\?", self.is_in),
            (rf"How many objects is {NAME} holding\?",
             lambda a: ("none", "one", "two", "three")[len(self.held.get(a, ()))]),
            (rf"What is {NAME} holding\?", lambda a: ",".join(self.held.get(a, ())) or "nothing"),
            (rf"What did {NAME} give to {NAME}\?", lambda a, b: self.gift(1, 0, a, 2, b)),
            (r"Who received the (\w+)\?", lambda item: self.gift(2, 1, item)),
            (rf"Who did {NAME} give the (\w+) to\?", lambda a, item: self.gift(2, 0, a, 1, item)),
            (rf"Who gave the (\w+) to {NAME}\?", lambda item, b: self.gift(0, 1, item, 2, b)),
            (r"Who gave the (\w+)\?", lambda item: self.gift(0, 1, item)),
            (r"What is (north|south|east|west) of the (\w+)\?", self.neighbour),
            (r"What is the (\w+) (north|south|east|west) of\?",
             lambda room, way: self.neighbour({v: k for k, v in OPPOSITES}[way], room)),
            (r"How do you go from the (\w+) to the (\w+)\?", self.path),
            (rf"Is the (.+) ({'|'.join(SIDES)}) the (.+)\?", self.is_beside),
            (r"Is the (.+) bigger than the (.+)\?", lambda a, b: self.smaller(b, a)),
            (r"Does the (.+) fit in the (.+)\?", self.smaller),
            (rf"What is {NAME} afraid of\?", lambda a: self.facts[self.facts[a], "fears"]),
            (rf"What color is {NAME}\?", self.color),
            (rf"Where will {NAME} go\?", lambda a: HOLDS[self.facts[a, "is"]][0]),
            (rf"Why did {NAME} (?:go to|get) the \w+\?", lambda a: self.facts[a, "is"]),
        ]  # fmt: skip
        for pattern, rule in rules:
            found = re.fullmatch(pattern, text)
            if found:
                return tuple(rule(*found.groups()).split(","))
        raise AssertionError(f"not understood: {text}")

    @staticmethod
    def only(rooms):
        (room,) = rooms
        return room

    def where_is(self, item):
        (holder,) = [person for person, items in self.held.items() if item in items]
        return self.only(self.place[holder])

    def before(self, item, room):
        rooms = self.stays[item]
        last = max(i for i, other in enumerate(rooms) if other == room)
        return rooms[last - 1]

    def earlier(self, person, room):
        places = [self.times[person][when] for when in sorted(self.times[person])]
        return places[places.index(room) - 1]

    def is_in(self, person, room):
        rooms = self.place[person]
        if rooms[0] == "not":
            assert rooms[1] == room, "nothing is known of other rooms"
            return "no"
        if room not in rooms:
            return "no"
        return "yes" if len(rooms) == 1 else "maybe"

    def gift(self, wanted, *known):
        for gift in reversed(self.gifts):
            if all(
                gift[place] == value for place, value in zip(known[::2], known[1::2], strict=True)
            ):
                return gift[wanted]
        raise AssertionError("no such gift")

    def neighbour(self, way, room):
        for one, stated, other in self.relations:
            if (stated, other) == (way, room):
                return one
            if (dict(OPPOSITES)[stated], one) == (way, room):
                return other
        raise AssertionError("no such neighbour")

    def path(self, start, end):
        steps = {}
        for one, way, other in self.relations:
            steps.setdefault(other, []).append((way, one))
            steps.setdefault(one, []).append((dict(OPPOSITES)[way], other))
        waiting, found = deque([(start, (), {start})]), []
        while waiting:
            room, ways, seen = waiting.popleft()
            if room == end:
                found.append(ways)
                continue
            for way, other in steps[room]:
                if other not in seen:
                    waiting.append((other, (*ways, way[0]), seen | {other}))
        (ways,) = found  # there is one path only
        return ",".join(ways)

    def is_beside(self, one, way, other):
        (first, side, second), (third, last, fourth) = self.relations
        assert fourth == first
        x, y = SIDES[side]
        at = {second: (0, 0), first: (x, y), third: (x + SIDES[last][0], y + SIDES[last][1])}
        ahead = sum((a - b) * s for a, b, s in zip(at[one], at[other], SIDES[way], strict=True))
        return "yes" if ahead > 0 else "no"

    def smaller(self, one, other):
        bigger = {}
        for small, _, big in self.relations:
            bigger.setdefault(small, set()).add(big)

        def above(thing):
            return bigger.get(thing, set()).union(*(above(b) for b in bigger.get(thing, set())))

        assert other in above(one) or one in above(other)
        return "yes" if other in above(one) else "no"

    def color(self, person):
        alike = [name for name in self.facts if self.facts[name] == self.facts[person]]
        (color,) = {self.facts[a, "is"] for a in alike if (a, "is") in self.facts}
        return color


OPPOSITES = [("north", "south"), ("south", "north"), ("east", "west"), ("west", "east")]


def answers(lines):
    """What the questions of a story are answered with."""
    reader, found = Reader(), []
    for line in lines:
        if line.answer:
            found.append(reader.answer(line.text))
        else:
            reader.read(line.text)
    return found
