# An idle web service: sessions as ordinary objects. A line on standard input wakes it; it answers with a line.
import os
import random
import sys

HEAP = int(os.environ["SWAPTUNE_HEAP"])
WORK = int(os.environ["SWAPTUNE_WORK"])
random.seed(int(os.environ["SWAPTUNE_SEED"]))
WORDS = (
    "account address agent amount basket billing browser campaign carrier catalogue city colour contact country coupon currency "
    "customer delivery device discount email gift invoice item language locale loyalty market name newsletter note order parcel "
    "partner payment phone postcode price product profile quantity refund region return review seller session shipment size status "
    "stock store street subscription supplier tax title tracking voucher warehouse wishlist"
).split()


def data():
    """Bytes of private memory, in RAM or not (proc_pid_statm(5), field data)."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")


def session(number):
    items = [
        {
            "sku": random.randrange(10**8),
            "title": " ".join(random.choices(WORDS, k=5)),
            "quantity": random.randrange(1, 9),
            "price": round(random.uniform(1, 500), 2),
        }
        for _ in range(random.randrange(1, 6))
    ]
    return {
        "token": f"{random.getrandbits(128):032x}",
        "user": f"{random.choice(WORDS)}.{random.choice(WORDS)}{number}@example.org",
        "created": 1.6e9 + random.random() * 1e8,
        "basket": items,
        "seen": 0,
    }


def wake(sessions):
    count = max(1, len(sessions) * WORK // 100)
    first = random.randrange(len(sessions))
    total = 0.0
    for index in range(first, first + count):
        visitor = sessions[index % len(sessions)]
        visitor["seen"] += 1
        for item in visitor["basket"]:
            total += item["quantity"] * item["price"]
    return total


begin = data()
sessions = [session(0)]
while data() - begin < HEAP:
    sessions.extend(session(len(sessions) + number) for number in range(64))
print("ready", flush=True)
for _ in sys.stdin:
    print(f"{wake(sessions):.2f}", flush=True)
