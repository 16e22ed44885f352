"""Ports for servers that have to be told one, and cannot say which they have taken."""

import random
import socket

# Below those that the kernel gives to whoever asks for any port: nobody gets one of these by chance between the
# look here and the server's start.
LOWEST, HIGHEST = 10_000, 30_000


def free_ports(count):
    """So many ports of loopback that nobody listens on."""
    found = []
    for port in random.SystemRandom().sample(range(LOWEST, HIGHEST), 200 + count):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError("no free ports from %d to %d" % (LOWEST, HIGHEST))
