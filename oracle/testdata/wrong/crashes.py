"""Broken: it exits with 1 after half of the correct lines."""

import sys

import correct

lines = [line for trace in correct.traces() for line in trace]
correct.write([lines[: len(lines) // 2]])
sys.exit(1)
