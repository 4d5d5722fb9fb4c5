# An idle service with an SQLite database of its own, all of it in SQLite's page cache. A line on standard input wakes it; it
# answers with a line.
import os
import random
import sqlite3
import sys

HEAP = int(os.environ["SWAPTUNE_HEAP"])
WORK = int(os.environ["SWAPTUNE_WORK"])
random.seed(int(os.environ["SWAPTUNE_SEED"]))
WORDS = "arrived cancelled checked delayed delivered held loaded lost moved ordered packed paid picked refused returned sent".split()

database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, parcel TEXT, state TEXT, note TEXT, weight REAL, seen INTEGER)")
database.execute("CREATE INDEX event_of_parcel ON event (parcel)")


def event():
    note = " ".join(random.choices(WORDS, k=10))
    return (f"{random.getrandbits(64):016x}", random.choice(WORDS), note, random.uniform(0.1, 30), 0)


def size():
    pages, = database.execute("PRAGMA page_count").fetchone()
    each, = database.execute("PRAGMA page_size").fetchone()
    return pages * each


while size() < HEAP:
    rows = [event() for _ in range(512)]
    database.executemany("INSERT INTO event (parcel, state, note, weight, seen) VALUES (?, ?, ?, ?, ?)", rows)
    database.commit()
count, = database.execute("SELECT count(*) FROM event").fetchone()
print("ready", flush=True)
width = max(1, count * WORK // 100)
for _ in sys.stdin:
    first = random.randrange(count - width + 1)
    last = first + width
    total, = database.execute("SELECT sum(weight) FROM event WHERE id BETWEEN ? AND ?", (first, last)).fetchone()
    database.execute("UPDATE event SET seen = seen + 1 WHERE id BETWEEN ? AND ?", (first, first + 64))
    database.commit()
    print(total, flush=True)
