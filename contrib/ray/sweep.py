#!/usr/bin/env python3
"""Runs the items of `swaptune simulate run` on the workers of Ray.

    python3 sweep.py --lines lines.jsonl -- scenarios/a.toml --sweep machine.ram=1G,2G,4G --set seeds=5
    swaptune simulate merge lines.jsonl --csv > outcomes.csv

What stands behind `--` are arguments of `swaptune simulate run`; every worker must have swaptune and the files they name. An item is a
function of its number, so one whose worker dies is run again on another. Only this process writes lines, each once and whole: a sweep that was
broken off is taken up where it was by the same command.
"""

import argparse
import json
import os
import subprocess
import sys

import ray


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--swaptune", default="swaptune", help="how swaptune is called on the workers")
    parser.add_argument("--lines", required=True, help="file that lines are added to")
    parser.add_argument("--address", help="a cluster of Ray [default: workers of this machine]")
    parser.add_argument("--workers", type=int, help="workers of this machine [default: one for each processor]")
    parser.add_argument("--retries", type=int, default=3, help="how often an item is run again when its worker dies [default: 3]")
    parser.add_argument("run", nargs="+", help="arguments of `swaptune simulate run`")
    return parser.parse_args()


@ray.remote(max_retries=0)
def item(command, number):
    """One line of JSON, or what swaptune has against it."""
    done = subprocess.run([*command, "--item", str(number)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def done_before(path):
    """Numbers of the items in the file; a last line that was cut short is taken off."""
    if not os.path.exists(path):
        return set()
    with open(path, "rb+") as lines:
        text = lines.read()
        whole = text[: text.rfind(b"\n") + 1]
        lines.truncate(len(whole))
    return {json.loads(line)["item"] for line in whole.splitlines() if line.strip()}


def count(command):
    """How many items there are."""
    asked = subprocess.run([*command, "--items"], capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        sys.exit(asked.stderr.strip())
    return int(asked.stdout)


def work(command, wanted, retries, lines):
    """Runs the wanted items and writes their lines as they come."""
    running = {item.remote(command, number): number for number in wanted}
    again = {}
    while running:
        [ready], _ = ray.wait(list(running), num_returns=1)
        number = running.pop(ready)
        try:
            code, out, complaint = ray.get(ready)
        except ray.exceptions.RayError as error:
            again[number] = again.get(number, 0) + 1
            if again[number] > retries:
                sys.exit(f"item {number}: its worker died {again[number]} times: {error}")
            print(f"item {number}: its worker died, run again", file=sys.stderr, flush=True)
            running[item.remote(command, number)] = number
            continue
        if code != 0:
            sys.exit(f"item {number}: {complaint.strip()}")
        lines.write(out)
        lines.flush()


def main():
    """Counts, starts Ray, works."""
    args = arguments()
    command = [args.swaptune, "simulate", "run", *args.run]
    wanted = sorted(set(range(count(command))) - done_before(args.lines))
    local = {} if args.address else {"num_cpus": args.workers, "include_dashboard": False, "object_store_memory": 100 << 20}
    ray.init(address=args.address, log_to_driver=False, logging_level="error", **local)
    with open(args.lines, "a", encoding="utf-8") as lines:
        work(command, wanted, args.retries, lines)
    print(f"{len(wanted)} items: {args.lines}", file=sys.stderr)


if __name__ == "__main__":
    main()
