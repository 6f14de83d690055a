"""Threads that have published labels, or none, before they sleep: labelled.py FOLDER, with profd_labels.py in it.

Writes one line of JSON when all of them sleep, and sleeps on until it is ended.
"""

import json
import os
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])
from profd_labels import label  # noqa: E402

places = []
stand = threading.Barrier(4)


def work(labels):
    with label(**labels):
        place = {"tid": threading.get_native_id(), "labels": {name: str(value) for name, value in labels.items()}}
        places.append(place)
        stand.wait()
        time.sleep(3600)


for labels in ({"phase": "load", "step": 7}, {"phase": "compute"}):
    threading.Thread(target=work, args=(labels,), daemon=True).start()


def plain():
    places.append({"tid": threading.get_native_id(), "labels": {}})
    stand.wait()
    time.sleep(3600)


threading.Thread(target=plain, daemon=True).start()
stand.wait()
os.write(1, (json.dumps({"threads": places}) + "\n").encode())
time.sleep(3600)
