"""The peer of `make bench-sim`: libcachesim, asked line by line.

A line of standard input is a JSON object; the answer is one on standard output.
{"trace": FILE, "policy": "LRU", "size": PAGES, "hashpower": N}  ->  {"seconds": processor time, "ratio": miss ratio}
"""

import json
import sys
import time

import libcachesim

for line in sys.stdin:
    ask = json.loads(line)
    reader = libcachesim.TraceReader(
        trace=ask["trace"],
        trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        reader_init_params=libcachesim.ReaderInitParam(ignore_obj_size=True),
    )
    cache = getattr(libcachesim, ask["policy"])(cache_size=ask["size"], hashpower=ask["hashpower"])
    start = time.process_time()
    ratio, _ = cache.process_trace(reader)
    print(json.dumps({"seconds": time.process_time() - start, "ratio": ratio}), flush=True)
