"""Broken: its lines are correct, and its cases come last to first."""

import correct

correct.write(reversed(correct.traces()))
