from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, final

from typing_extensions import NotRequired

__all__ = [
    "ArrowTable",
    "NativeLog",
    "NativeLogError",
    "NativeLogWriter",
    "NativeNursery",
    "NativeParetoSet",
    "NativePlayError",
    "NativeRecordError",
    "NativeRecording",
    "NativeReplications",
    "NativeSimulation",
    "NativeSimulationError",
    "builtin_scripts",
    "compute_loop",
    "dominated",
    "examine_machine",
    "expand_distribution",
    "machine_schema",
    "mva",
    "mva_by_population",
    "mva_classes",
    "mva_rates",
    "parse_distribution",
    "parse_duration",
    "parse_size",
    "read_script",
    "read_workload",
    "record",
    "record_session",
    "schedule",
    "script_demands",
    "serve_nursery",
    "simulated_systems",
    "vocabulary",
    "workload",
]

class NativeLogError(ValueError): ...

@final
class ArrowTable:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...
    def __len__(self) -> int: ...

_Mode = Literal["create", "resume", "replace"]

class _Column(TypedDict):
    name: str
    type: Literal["u64", "i64", "f64", "bool", "text", "time"]
    unit: str
    kind: Literal["counter", "gauge", "time", "label"]
    role: NotRequired[Literal["system_time", "user_time", "idle_time", "request", "load", "throughput"]]
    description: str

class _Table(TypedDict):
    name: str
    columns: list[_Column]

class _PartGroup(TypedDict):
    files: list[str]
    superseded: dict[str, str]

class _Defect(TypedDict):
    severity: Literal["note", "error"]
    file: str
    place: str
    item: str
    message: str
    remedy: str

@final
class NativeLog:
    def __new__(cls, path: str) -> NativeLog: ...
    def manifest(self) -> dict[str, Any]: ...
    def part_groups(self, table: str) -> list[_PartGroup]: ...
    def open_rows(self, table: str) -> ArrowTable | None: ...
    def read(self, table: str) -> ArrowTable | None: ...
    def integrity(self) -> list[_Defect]: ...
    def check(self) -> list[_Defect]: ...

@final
class NativeLogWriter:
    def __new__(cls, path: str, mode: _Mode, session: dict[str, Any]) -> NativeLogWriter: ...
    def write(self, schema: dict[str, Any], stream: object) -> None: ...
    def incident(self, kind: str, detail: str, count: int, span_us: tuple[int, int] | None) -> None: ...
    def set(self, key: str, value: Any) -> None: ...
    def seal(self) -> None: ...
    def finish(self, end_us: int | None) -> None: ...

def vocabulary() -> list[_Table]: ...
def machine_schema() -> dict[str, Any]: ...

class NativePlayError(RuntimeError): ...

@final
class NativeNursery:
    def __new__(cls, command: Sequence[str]) -> NativeNursery: ...
    def prepare(
        self, options: dict[str, Any], on_progress: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any]: ...
    def play(
        self,
        options: dict[str, Any],
        prepared: dict[str, Any],
        writer: NativeLogWriter,
        on_progress: Callable[[dict[str, Any]], bool],
    ) -> dict[str, Any]: ...
    def rehearse(
        self,
        options: dict[str, Any],
        prepared: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], bool],
    ) -> dict[str, Any]: ...
    def measure_direct(
        self, array_bytes: int, on_progress: Callable[[dict[str, Any]], bool]
    ) -> list[dict[str, Any]]: ...
    def close(self) -> None: ...

def serve_nursery() -> None: ...
def workload(name: str) -> dict[str, Any]: ...
def read_workload(text: str) -> dict[str, Any]: ...
def compute_loop(burst_ms: int) -> dict[str, Any]: ...
def schedule(users: str, step_s: float, ramp_s: float | None = None) -> dict[str, Any]: ...
def parse_distribution(description: object) -> dict[str, Any]: ...
def expand_distribution(text: str) -> Any: ...
def parse_duration(text: str) -> float: ...
def parse_size(text: str) -> int: ...

class NativeRecordError(RuntimeError): ...

class _RecordOptions(TypedDict, total=False):
    interval_s: float | None
    duration_s: float | None
    jitter: float | None
    seed: int | None
    by: Literal["uid", "session", "cgroup", "none"]
    method: Literal["auto", "procfs", "taskstats"]
    root: str | None
    keep_bytes: int | None
    keep_days: float | None

class _Progress(TypedDict):
    samples: int
    elapsed_s: float
    busy: float | None
    active_users: int | None
    written_bytes: int

class _RecordSummary(TypedDict):
    samples: int
    missed_deadlines: int
    dropped_intervals: int
    facts: dict[str, Any]

@final
class NativeRecording:
    def __new__(cls, writer: NativeLogWriter, options: _RecordOptions) -> NativeRecording: ...
    def new_part(self) -> None: ...
    def stop(self) -> _RecordSummary: ...

def record(
    path: str,
    mode: _Mode,
    options: _RecordOptions,
    on_progress: Callable[[_Progress], None] | None = None,
) -> _RecordSummary: ...
def record_session(options: _RecordOptions) -> dict[str, Any]: ...
def examine_machine() -> tuple[str, dict[str, Any]]: ...
def mva(demands: Sequence[float], think: float, population: int) -> tuple[float, bytes]: ...
def mva_by_population(demands: Sequence[float], think: float, population: int) -> tuple[bytes, bytes]: ...
def mva_rates(
    fixed: Sequence[float],
    think: float,
    demands: Sequence[float],
    rates: Sequence[Sequence[float]],
    population: int,
) -> tuple[bytes, bytes, bytes]: ...
def mva_classes(
    demands: Sequence[Sequence[float]],
    rates: Sequence[Sequence[float] | None],
    think: Sequence[float],
    population: Sequence[int],
) -> tuple[bytes, bytes]: ...
def dominated(dimensions: int, points: bytes, by: bytes) -> bytes: ...

@final
class NativeParetoSet:
    def __new__(cls, dimensions: int) -> NativeParetoSet: ...
    @property
    def n(self) -> int: ...
    def absorb(self, rows: bytes) -> None: ...
    def merge(self, later: NativeParetoSet) -> None: ...
    def maximal(self) -> tuple[bytes, bytes]: ...

class NativeSimulationError(RuntimeError): ...

@final
class NativeSimulation:
    def __new__(cls, name: str, parameters: Mapping[str, Any]) -> NativeSimulation: ...
    def parameters(self) -> dict[str, Any]: ...
    def machine(self) -> dict[str, Any]: ...
    def responses(self) -> list[tuple[str, str, str]]: ...
    def run(
        self,
        seed: int,
        first: int,
        count: int,
        threads: int | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> NativeReplications: ...
    def record(
        self,
        path: Path,
        mode: _Mode,
        seed: int,
        number: int,
        finished: NativeReplications,
        trace: bool,
    ) -> None: ...

@final
class NativeReplications:
    @property
    def first_replication(self) -> int: ...
    @property
    def warm_up_s(self) -> float: ...
    @property
    def settled(self) -> bool | None: ...
    @property
    def events(self) -> int: ...
    def responses(self) -> list[list[float]]: ...
    def batches(self, index: int) -> tuple[list[float], int] | None: ...
    def laws(self) -> list[tuple[str, list[str]]]: ...

def simulated_systems() -> list[dict[str, Any]]: ...
def builtin_scripts() -> Sequence[tuple[str, str]]: ...
def read_script(text: str, file: str, system: str | None = None) -> dict[str, Any]: ...
def script_demands() -> list[dict[str, Any]]: ...
