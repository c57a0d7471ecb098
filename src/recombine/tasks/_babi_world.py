"""The world of bAbI: people who walk between rooms and carry objects, told line by line."""

from random import Random

from ._stories import Line, Story

ROOMS = ("bedroom", "kitchen", "garden", "hallway", "bathroom", "office")
OBJECTS = {"apple": "kitchen", "football": "garden", "milk": "kitchen"}
"""Objects and the rooms in which they lie at the beginning."""
PEOPLE = ("John", "Mary", "Sandra", "Daniel")
PRONOUNS = {"John": "he", "Daniel": "he", "Mary": "she", "Sandra": "she"}
GO = ("went to", "moved to", "journeyed to", "travelled to", "went back to")
GET = ("got", "took", "grabbed", "picked up")
DROP = ("dropped", "put down", "discarded", "left")
GIVE = ("gave", "handed", "passed")


class Telling:
    """A story that is being told."""

    def __init__(self, random: Random):
        self.random = random
        self.lines: list[Line] = []

    @property
    def questions(self) -> int:
        return sum(bool(line.answer) for line in self.lines)

    def say(self, text: str) -> int:
        """Add a sentence; the number of its line."""
        self.lines.append(Line(f"{text}."))
        return len(self.lines)

    def ask(self, text: str, answer: str, *support: int) -> None:
        """Add a question."""
        lines = tuple(sorted(set(support)))
        self.lines.append(Line(f"{text}?", tuple(answer.split(",")), lines))

    def story(self, task: int) -> Story:
        return Story(tuple(self.lines), task)


class World(Telling):
    """A story of people, rooms and objects, and what a reader knows of them.

    What is known has the lines from which it is.
    """

    def __init__(self, random: Random):
        super().__init__(random)
        self.rooms = {person: random.choice(ROOMS) for person in PEOPLE}
        self.lying: dict[str, str] = dict(OBJECTS)
        self.holder: dict[str, str] = {}
        self.seen_in: dict[str, tuple[str, int]] = {}
        """The room of a person that is known, and the line that says so."""
        self.got: dict[str, int] = {}
        """The line since which the holder of an object holds it."""
        self.carried: dict[str, list[str]] = {person: [] for person in PEOPLE}
        """Objects in the order in which a person got them."""
        self.acted: dict[str, list[int]] = {person: [] for person in PEOPLE}
        """Lines in which what a person holds has changed."""
        self.places: dict[str, list[tuple[str, frozenset[int]]]] = {o: [] for o in OBJECTS}
        """Rooms in which an object is known to have been, with the lines from which it follows."""

    def verb(self, verbs: tuple[str, ...]) -> str:
        return self.random.choice(verbs)

    def move(self, person: str | None = None) -> int:
        """Somebody goes to another room."""
        person = person or self.random.choice(PEOPLE)
        room = self.random.choice([room for room in ROOMS if room != self.rooms[person]])
        line = self.say(f"{person} {self.verb(GO)} the {room}")
        self.arrive(person, room, line)
        return line

    def arrive(self, person: str, room: str, line: int) -> None:
        self.rooms[person] = room
        self.seen_in[person] = room, line
        for item in self.carried[person]:
            self._place(item, room, self.got[item], line)

    def _place(self, item: str, room: str, *lines: int) -> None:
        history = self.places[item]
        if not history or history[-1][0] != room:
            history.append((room, frozenset(lines)))

    def get(self) -> bool:
        """Somebody takes an object that lies where they are; whether anybody can."""
        able = [
            (person, item)
            for item, room in self.lying.items()
            for person in PEOPLE
            if self.rooms[person] == room
        ]
        if not able:
            return False
        person, item = self.random.choice(able)
        line = self.say(f"{person} {self.verb(GET)} the {item}")
        del self.lying[item]
        self._hold(person, item, line)
        return True

    def _hold(self, person: str, item: str, line: int) -> None:
        self.holder[item], self.got[item] = person, line
        self.carried[person].append(item)
        self.acted[person].append(line)
        if person in self.seen_in:
            room, seen = self.seen_in[person]
            self._place(item, room, seen, line)

    def drop(self) -> bool:
        """Somebody drops an object; whether anybody can."""
        if not self.holder:
            return False
        item, person = self.random.choice(sorted(self.holder.items()))
        line = self.say(f"{person} {self.verb(DROP)} the {item}")
        self._release(item, person, line)
        self.lying[item] = self.rooms[person]
        return True

    def _release(self, item: str, person: str, line: int) -> None:
        del self.holder[item]
        self.carried[person].remove(item)
        self.acted[person].append(line)

    def give(self) -> tuple[str, str, str, int] | None:
        """Somebody gives an object to somebody in the same room: who, what, to whom, and where
        it is told."""
        able = [
            (giver, item, taker)
            for item, giver in sorted(self.holder.items())
            for taker in PEOPLE
            if taker != giver and self.rooms[taker] == self.rooms[giver]
        ]
        if not able:
            return None
        giver, item, taker = self.random.choice(able)
        line = self.say(f"{giver} {self.verb(GIVE)} the {item} to {taker}")
        self._release(item, giver, line)
        self._hold(taker, item, line)
        return giver, item, taker, line
