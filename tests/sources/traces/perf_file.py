"""Files of perf written by hand, of either byte order, after perf.data-file-format.txt."""

import struct

SWITCH, WAKEUP, NEW, FORK, EXIT = 10, 11, 12, 13, 14
NAMED = (("char comm[16]", 8, 16, 0), ("pid_t pid", 24, 4, 1), ("int target_cpu", 32, 4, 1))
FORMATS = {
    SWITCH: (
        "sched_switch",
        (
            ("char prev_comm[16]", 8, 16, 0),
            ("pid_t prev_pid", 24, 4, 1),
            ("int prev_prio", 28, 4, 1),
            ("long prev_state", 32, 8, 1),
            ("char next_comm[16]", 40, 16, 0),
            ("pid_t next_pid", 56, 4, 1),
            ("int next_prio", 60, 4, 1),
        ),
    ),
    WAKEUP: ("sched_wakeup", NAMED),
    NEW: ("sched_wakeup_new", NAMED),
    FORK: (
        "sched_process_fork",
        (
            ("__data_loc char[] parent_comm", 8, 4, 0),
            ("pid_t parent_pid", 12, 4, 1),
            ("__data_loc char[] child_comm", 16, 4, 0),
            ("pid_t child_pid", 20, 4, 1),
        ),
    ),
    EXIT: ("sched_process_exit", NAMED[:2]),
}
FLAGS = '{ 0x1, "S" }, { 0x2, "D" }, { 0x4, "T" }, { 0x10, "X" }, { 0x20, "Z" }, { 0x80, "I" }'
FLAGS_BEFORE_4_14 = (
    '{ 1, "S" }, { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, '
    '{ 256, "W" }, { 512, "P" }, { 1024, "N" }'
)
PREEMPTED = 0x100
SAMPLE_TYPE = 1 << 16 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 10  # IDENTIFIER, TID, TIME, CPU, RAW
CALLCHAIN = 1 << 5


class PerfFile:
    """Records in the order in which they are added; `data` is the file."""

    def __init__(self, order="<", *, flags=FLAGS, sample_type=SAMPLE_TYPE, clock=None, cpus=2):
        self.order, self.flags, self.sample_type, self.clock, self.cpus = (
            order,
            flags,
            sample_type,
            clock,
            cpus,
        )
        self.records = bytearray()
        self.places = []
        self.features = {}

    def pack(self, code, *values):
        return struct.pack(self.order + code, *values)

    def record(self, kind, body, misc=0):
        body += bytes(-len(body) % 8)
        self.places.append(len(self.records))
        self.records += self.pack("IHH", kind, misc, len(body) + 8) + body
        return self

    def at_end(self, time, cpu=0, task=0):
        return self.pack("IIQIIQ", task, task, time, cpu, 0, 0)

    def sample(self, event, time, cpu, raw, *, process=1, task=1, stack=()):
        body = self.pack("QIIQII", event, process, task, time, cpu, 0)
        if self.sample_type & CALLCHAIN:
            body += self.pack(f"Q{len(stack)}Q", len(stack), *stack)
        raw += bytes(-(len(raw) + 4) % 8)
        return self.record(9, body + self.pack("I", len(raw)) + raw)

    def head(self, event):
        return self.pack("HBBi", event, 0, 0, 0)

    def switch(self, time, cpu, gone, state, come, **options):
        (name, task), (next_name, next_task) = gone, come
        raw = self.head(SWITCH) + name.encode().ljust(16, b"\0") + self.pack("iiq", task, 120, state)
        raw += next_name.encode().ljust(16, b"\0") + self.pack("ii", next_task, 120)
        options.setdefault("process", task)
        return self.sample(SWITCH, time, cpu, raw, task=task, **options)

    def named(self, event, time, cpu, who, *, target=0, **options):
        name, task = who
        raw = self.head(event) + name.encode().ljust(16, b"\0") + self.pack("iii", task, 120, target)
        return self.sample(event, time, cpu, raw, **options)

    def wake(self, time, cpu, who, **options):
        return self.named(WAKEUP, time, cpu, who, **options)

    def fork(self, time, cpu, parent, child):
        texts = b"".join(name.encode() + b"\0" for name, _ in (parent, child))
        first = len(parent[0]) + 1
        raw = self.head(FORK) + self.pack(
            "IiIi", 24 | first << 16, parent[1], 24 + first | len(child[0]) + 1 << 16, child[1]
        )
        return self.sample(FORK, time, cpu, raw + texts, process=parent[1], task=parent[1])

    def comm(self, process, task, name, time=0):
        return self.record(
            3, self.pack("II", process, task) + name.encode().ljust(16, b"\0") + self.at_end(time)
        )

    def started(self, task, process, parent):
        return self.record(7, self.pack("IIIIQ", process, parent, task, parent, 0) + self.at_end(0))

    def lost(self, time, count):
        return self.record(2, self.pack("QQ", SWITCH, count) + self.at_end(time))

    def round(self):
        return self.record(68, b"")

    def tracing(self):
        def text(name, fields):
            lines = [
                f"\tfield:{what};\toffset:{at};\tsize:{size};\tsigned:{signed};"
                for what, at, size, signed in fields
            ]
            return "\n".join(
                [f"name: {name[0]}", f"ID: {name[1]}", "format:", *lines, "", f"print fmt: {self.flags}", ""]
            )

        formats = [text((name, event), fields).encode() for event, (name, fields) in FORMATS.items()]
        data = (
            b"\x17\x08\x44tracing0.6\0"
            + (b"\1" if self.order == ">" else b"\0")
            + b"\x08"
            + self.pack("I", 4096)
        )
        for name in (b"header_page", b"header_event"):
            data += name + b"\0" + self.pack("Q", 0)
        data += self.pack("I", 0) + self.pack("I", 1) + b"sched\0" + self.pack("I", len(formats))
        for item in formats:
            data += self.pack("Q", len(item)) + item
        return data + self.pack("II", 0, 0) + self.pack("Q", 0)

    def attribute(self, event):
        flag = 1 << 18 | (1 << 25 if self.clock is not None else 0)
        if self.order == ">":
            flag = int(f"{flag:064b}"[::-1], 2)
        head = self.pack("2I5Q", 2, 112, event, 1, self.sample_type, 0, flag)
        return (head.ljust(92, b"\0") + self.pack("i", self.clock or 0)).ljust(112, b"\0")

    @property
    def start(self):
        return 104 + len(FORMATS) * (128 + 8 * self.cpus)

    def place(self, index):
        """Byte of the file at which a record begins."""
        return self.start + self.places[index]

    @property
    def data(self):
        ids = 104 + 128 * len(FORMATS)
        attributes = b"".join(
            self.attribute(event) + self.pack("QQ", ids + 8 * self.cpus * number, 8 * self.cpus)
            for number, event in enumerate(FORMATS)
        )
        numbers = b"".join(
            self.pack("Q", event if cpu == 0 else event + 1000 * cpu)
            for event in FORMATS
            for cpu in range(self.cpus)
        )
        features = {1: self.tracing(), 7: self.pack("II", 2, 2), **self.features}
        flags = sum(1 << number for number in features)
        size = len(self.records)
        head = struct.pack(self.order + "Q", 0x32454C4946524550) + self.pack(
            "12Q", 104, 128, 104, len(attributes), self.start, size, 0, 0, flags, 0, 0, 0
        )
        at = self.start + size + 16 * len(features)
        table = b""
        for number in sorted(features):
            table += self.pack("QQ", at, len(features[number]))
            at += len(features[number])
        tail = b"".join(features[number] for number in sorted(features))
        return head + attributes + numbers + bytes(self.records) + table + tail
