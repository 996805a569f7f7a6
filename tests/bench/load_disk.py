"""Write to the disk what the journal would of publications, with nobody publishing: what the disk takes at most.

Takes the options of the other load generators, and prints one line of JSON as they do. It writes as the journal does,
in groups of several frames, each of which is forced to the disk.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

from fmqbus.journal.block_file import BlockFile
from fmqbus.journal.entries import FRAME_OCTETS, PACKET_HEAD

#: The load generator's topics are so long.
TOPIC_OCTETS = 8
GROUP_FRAMES = 4


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--payload", type=int, default=128)
    arguments.add_argument("--secs", type=float, default=2.0)
    arguments.add_argument("--warm", type=float, default=0.5)
    chosen, _ = arguments.parse_known_args()
    frame = os.urandom(FRAME_OCTETS)
    with tempfile.TemporaryDirectory() as folder:
        file = BlockFile(Path(folder, "log"), 0, 0o600)
        begin = time.perf_counter() + chosen.warm
        before = None
        while (now := time.perf_counter()) < begin + chosen.secs:
            if before is None and now >= begin:
                begin, before = now, file.octets
            file.append([frame] * GROUP_FRAMES)
        octets = file.octets - (before or 0)
        file.close()
    row = PACKET_HEAD.size + TOPIC_OCTETS + chosen.payload
    print(json.dumps({"msgs_s": round(octets / row / (time.perf_counter() - begin))}))


if __name__ == "__main__":
    main()
