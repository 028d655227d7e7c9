"""Broken: it prints a line for each case, and none is JSON."""

import sys

for line in sys.stdin.buffer:
    print("all is well")
