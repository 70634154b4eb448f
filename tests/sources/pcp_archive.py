"""Archives of Performance Co-Pilot: those of the real tools, and small ones written as documented."""

import lzma
import re
import struct
from pathlib import Path

FIXTURES = Path(__file__).parents[1] / "fixtures" / "pcp"
COUNTER, INSTANT, DISCRETE = 1, 3, 4
U32, U64, STRING = 1, 3, 6
MILLISECONDS, NANOSECONDS, COUNT, BYTES, KILOBYTES, NONE = (
    0x0100_2000,
    0x0100_0000,
    0x0010_0000,
    0x1000_0000,
    0x1001_0000,
    0,
)
NO_DOMAIN = 0xFFFF_FFFF


def unpacked(folder, name="load"):
    """Path of the metadata of an archive of the fixtures, unpacked into `folder`."""
    for ending in ("meta", "0"):
        packed = FIXTURES / f"{name}.{ending}.xz"
        (folder / f"{name}.{ending}").write_bytes(lzma.decompress(packed.read_bytes()))
    return folder / f"{name}.meta"


def printed():
    """What pmdumplog printed: by metric and instance, the values in their order."""
    found, metric = {}, None
    for line in (FIXTURES / "load.txt").read_text().splitlines():
        if named := re.match(r"\s+\d+\.\d+\.\d+ \(([\w.]+)\):(.*)", line):
            metric, line = named[1], named[2]
        value = re.search(r"value (\S+)$", line)
        if value and metric:
            inst = re.search(r'inst \[(\d+) or (?:"([^"]*)"|\?\?\?)\]', line)
            key = metric, int(inst[1]) if inst else -1
            found.setdefault(key, []).append(float(value[1]))
    return found


def framed(payload):
    size = struct.pack(">I", len(payload) + 8)
    return size + payload + size


def label(volume, second):
    return framed(struct.pack(">IIIii64s40s", 0x5005_2602, 1, second, 0, volume, b"host", b"UTC"))


def described(pmid, name, kind, domain, semantics, units):
    return framed(
        struct.pack(">iIiIiIi", 1, pmid, kind, domain, semantics, units, 1)
        + struct.pack(">i", len(name))
        + name.encode()
    )


def named(second, domain, names):
    texts, offsets = b"", []
    for name in names.values():
        offsets.append(len(texts))
        texts += name.encode() + b"\0"
    count = len(names)
    return framed(
        struct.pack(">iIiIi", 2, second, 0, domain, count)
        + struct.pack(f">{2 * count}i", *names, *offsets)
        + texts
    )


def fetched(second, values):
    """Fetch of numbers of 64 bits: by metric, by instance."""
    sets, blocks = b"", b""
    size = 12 + sum(12 + 8 * len(found) for found in values.values())
    for pmid, found in values.items():
        sets += struct.pack(">Iii", pmid, len(found), 1)
        for inst, value in found.items():
            sets += struct.pack(">ii", inst, (size + len(blocks) + 12) // 4)
            blocks += struct.pack(">IQ", U64 << 24 | 12, value)
    whole, part = divmod(second, 1)
    return framed(struct.pack(">Iii", int(whole), round(part * 1e6), len(values)) + sets + blocks)


def mark(second):
    return framed(struct.pack(">Iii", second, 0, 0))


def written(folder, metadata, fetches, begin, name="made"):
    """Path of the metadata of an archive with these records."""
    (folder / f"{name}.meta").write_bytes(label(-1, begin) + b"".join(metadata))
    (folder / f"{name}.0").write_bytes(label(0, begin) + b"".join(fetches))
    return folder / f"{name}.meta"
