"""The peer of `make bench-sim`: libcachesim, asked line by line.

A line of standard input is a JSON object; the answer is one on standard output.
{"trace": FILE, "policy": "LRU", "size": PAGES, "hashpower": N}  ->  {"seconds": processor time, "ratio": miss ratio}
{"trace": FILE, "count": "requests" or "working set"}                      ->  {"seconds": processor time, "count": N}
"""

import json
import os
import sys
import time

import libcachesim



def replay(ask, reader):
    cache = getattr(libcachesim, ask["policy"])(cache_size=ask["size"], hashpower=ask["hashpower"])
    start = time.process_time()
    ratio, _ = cache.process_trace(reader)
    return {"seconds": time.process_time() - start, "ratio": ratio}


def count(ask, reader):
    start = time.process_time()
    if ask["count"] == "requests":
        number = sum(1 for _ in reader)
    else:
        # It reports its progress, which is not asked for.
        with open(os.devnull, "wb") as nowhere:
            kept = os.dup(2)
            os.dup2(nowhere.fileno(), 2)
            number, _ = reader.get_working_set_size()
            os.dup2(kept, 2)
            os.close(kept)
    return {"seconds": time.process_time() - start, "count": number}


for line in sys.stdin:
    ask = json.loads(line)
    reader = libcachesim.TraceReader(
        trace=ask["trace"],
        trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        reader_init_params=libcachesim.ReaderInitParam(ignore_obj_size=True),
    )
    answer = count(ask, reader) if "count" in ask else replay(ask, reader)
    print(json.dumps(answer), flush=True)
