"""Broken: it prints the first correct line again and again, without end."""

import correct

traces = correct.traces()
while True:
    correct.write([traces[0][:1]])
