#!/bin/sh
# A caller that leaves everything to curl: it posts the input to the address
# that is its last argument, and repeats up to five times what curl calls
# transient (408, 429, 500, 502, 503, 504), after Retry-After or a second.
for address do :; done
exec curl --silent --show-error --retry 5 --retry-delay 1 \
	--header 'Content-Type: application/json' --data-binary "$REMIT_INPUT" "$address"
