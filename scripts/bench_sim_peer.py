"""The peer of `make bench-sim`: libcachesim, asked line by line.

A line of standard input is a JSON object; the answer is one on standard output.
{"trace": FILE, "policy": "LRU", "size": PAGES, "hashpower": N}  ->  {"seconds": processor time, "ratio": miss ratio}
{"command": [WORDS]}                                             ->  {"seconds": processor time, "rss": bytes, "output": text}
"""

import json
import os
import subprocess
import sys
import time

import libcachesim


def replay(ask):
    reader = libcachesim.TraceReader(
        trace=ask["trace"],
        trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE,
        reader_init_params=libcachesim.ReaderInitParam(ignore_obj_size=True),
    )
    cache = getattr(libcachesim, ask["policy"])(cache_size=ask["size"], hashpower=ask["hashpower"])
    start = time.process_time()
    ratio, _ = cache.process_trace(reader)
    return {"seconds": time.process_time() - start, "ratio": ratio}


def command(ask):
    process = subprocess.Popen(ask["command"], stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{ask['command']}: status {status}")
    return {"seconds": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss * 1024, "output": output}


for line in sys.stdin:
    asked = json.loads(line)
    answer = command(asked) if "command" in asked else replay(asked)
    print(json.dumps(answer), flush=True)
