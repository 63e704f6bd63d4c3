#!/usr/bin/env python3
"""Makes trace.csv out of the public Philly jobs.

Usage: make.py philly_jobs.csv > trace.csv

The input has a header line with the columns submit_s, duration_s, gpus and vc, sorted by submit_s, which counts from
2017-09-04 10:30:41. The rules are stated in README.md; the tests of the import compare them with the file.
"""

import csv
import hashlib
import os
import sys

DAY_S = 86_400
FIRST_DAY, LAST_DAY = 24, 52
GPUS_PER_HOST = 8
CAP_S = 8 * 3_600
HERE = os.path.dirname(os.path.abspath(__file__))


def contract(job_id, gpus, duration_s):
    """The kind and the minimum runtime, which no public trace has."""
    if hashlib.sha256(job_id.encode()).digest()[0] % 10 == 0:
        return "sweep", 0
    if gpus <= GPUS_PER_HOST and duration_s <= 900:
        return "debug", 900
    hours = 1 if gpus == 1 else 2 if gpus <= 4 else 4 if gpus <= 8 else 8
    kind = "small" if gpus <= 8 else "mid" if gpus <= 64 else "large"
    return kind, min(hours * 3_600, CAP_S)


def submitter(job_id, team):
    """One person of the team submits every sixteenth job of the team that has most; programs submit the rest."""
    own = team == "perception" and hashlib.sha256(job_id.encode()).digest()[1] % 16 == 0
    return "noor" if own else f"{team}-ci"


def main(path):
    with open(os.path.join(HERE, "mapping.csv"), newline="") as file:
        teams = {row["vc"]: row["node"] for row in csv.DictReader(file)}
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("id,submit_s,user,charged_to,gpus,hosts,min_runtime_s,duration_s,resumable,priority,kind".split(","))
    number = 0
    with open(path, newline="") as file:
        for job in csv.DictReader(file):
            submit_s = int(job["submit_s"]) - FIRST_DAY * DAY_S
            if not 0 <= submit_s < (LAST_DAY - FIRST_DAY) * DAY_S or job["vc"] not in teams:
                continue
            number += 1
            job_id, team = f"p-{number:05}", teams[job["vc"]]
            gpus, duration_s = int(job["gpus"]), int(job["duration_s"])
            kind, min_runtime_s = contract(job_id, gpus, duration_s)
            hosts = -(-gpus // GPUS_PER_HOST)
            out.writerow(
                [job_id, submit_s, submitter(job_id, team), team, gpus, hosts, min_runtime_s, duration_s, "true", 0, kind]
            )


if __name__ == "__main__":
    main(sys.argv[1])
