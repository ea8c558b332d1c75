"""Runs a fleet of four ranks, each in a network of its own. Two ways lead out of each: a link to the server, and one to the
other ranks that delays packets and loses some. Starts everything and waits for the ranks; what is left ends with the namespace
of processes in which this runs. Prints, as JSON, how ranks ended and when the server's side saw each connection open.

    links.py PROGRAM FOLDER SHIFT_NS ARGUMENT...

Rank I has a monotonic clock that is I * SHIFT_NS ahead.
"""

import ctypes
import fcntl
import heapq
import itertools
import json
import os
import random
import select
import struct
import subprocess
import sys
import time

DELAYS = [0.0, 0.001, 0.005, 0.020]
LOSS = 0.01
SERVER = "10.78.0.100"
CLONE_NEWTIME = 0x80
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


def sh(line):
    subprocess.run(line, shell=True, check=True)


def networks():
    """Makes the networks. Returns the ends of the slow links."""
    sh("mkdir -p /run/netns && mount -t tmpfs none /run/netns")
    sh(f"ip link set lo up; ip link add br0 type bridge; ip addr add {SERVER}/24 dev br0; ip link set br0 up")
    ends = []
    for rank in range(len(DELAYS)):
        sh(f"ip netns add r{rank}; ip -n r{rank} link set lo up")
        sh(f"ip link add fast{rank} type veth peer name fast netns r{rank}")
        sh(f"ip link set fast{rank} master br0; ip link set fast{rank} up")
        sh(f"ip -n r{rank} addr add 10.78.0.{rank + 1}/24 dev fast; ip -n r{rank} link set fast up")
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", f"slow{rank}".encode(), IFF_TUN | IFF_NO_PI))
        sh(f"ip link set slow{rank} netns r{rank}")
        sh(f"ip -n r{rank} addr add 10.77.0.{rank + 1}/24 dev slow{rank}; ip -n r{rank} link set slow{rank} up")
        ends.append(end)
    return ends


def carry(ends):
    """Carries packets between the slow links, for ever."""
    draw = random.Random(7)
    number, waiting = itertools.count(), []
    by_end = {end: rank for rank, end in enumerate(ends)}
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, _, end, packet = heapq.heappop(waiting)
            os.write(end, packet)
        rest = (waiting[0][0] - now) * 1000 if waiting else None
        for end, _ in poll.poll(rest):
            packet = os.read(end, 2048)
            to = packet[19] - 1 if packet[0] >> 4 == 4 else -1
            if to not in range(len(ends)) or draw.random() < LOSS:
                continue
            due = time.monotonic() + DELAYS[by_end[end]] + DELAYS[to]
            heapq.heappush(waiting, (due, next(number), ends[to], packet))


def shifted(shift_ns, command):
    """Runs a command with a monotonic clock that is ahead."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWTIME) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with open("/proc/self/timens_offsets", "w") as offsets:
        offsets.write(f"monotonic {shift_ns // 10**9} {shift_ns % 10**9}\n")
    sys.exit(subprocess.call(command))


def main():
    program, folder, shift_ns, *arguments = sys.argv[1:]
    ends = networks()
    if os.fork() == 0:
        carry(ends)
    server = subprocess.Popen([program, "serve", "--listen", f"{SERVER}:8080"], stdout=subprocess.PIPE)
    server.stdout.readline()
    taken = open(os.path.join(folder, "syns"), "w+")
    opening = "tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn and dst port 8080"
    dump = ["tcpdump", "-i", "br0", "-n", "-tt", "-l", "--immediate-mode", "--time-stamp-precision=nano", opening]
    capture = subprocess.Popen(dump, stdout=taken, stderr=subprocess.PIPE, text=True)
    while "listening on" not in capture.stderr.readline():
        pass
    environment = dict(os.environ, HTTPERF_FLEET_SECRET="known to all ranks")
    ranks = []
    for rank in range(len(DELAYS)):
        command = ["ip", "netns", "exec", f"r{rank}", program, "--server", SERVER, "--port", "8080", *arguments]
        command += ["--fleet", f"{rank}/{len(DELAYS)}", "--meet", "10.77.0.1:7000"]
        command = [sys.executable, __file__, "shifted", str(rank * int(shift_ns)), *command]
        errors = subprocess.PIPE
        ranks.append(subprocess.Popen(command, env=environment, stdout=errors, stderr=errors, text=True))
    printed = [rank.communicate() for rank in ranks]
    time.sleep(0.2)
    capture.terminate()
    capture.wait()
    taken.seek(0)
    syns = {}
    for line in taken.read().split("\n"):
        words = line.split()
        if len(words) < 3 or words[1] != "IP":
            continue
        syns.setdefault(words[2].rsplit(".", 1)[0], []).append(float(words[0]))
    exits = [rank.returncode for rank in ranks]
    print(json.dumps({"exits": exits, "printed": printed, "syns": syns}))


if sys.argv[1] == "shifted":
    shifted(int(sys.argv[2]), sys.argv[3:])
main()
