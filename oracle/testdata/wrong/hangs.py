"""Broken: it reads all cases, prints nothing and never ends."""

import sys
import time

sys.stdin.buffer.read()
while True:
    time.sleep(3600)
