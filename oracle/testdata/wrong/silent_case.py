"""Broken: it prints no line for the last case."""

import correct

correct.write(correct.traces()[:-1])
