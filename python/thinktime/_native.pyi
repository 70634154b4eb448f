from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, final

from typing_extensions import NotRequired

__all__ = [
    "SOURCES",
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
    "NativeView",
    "builtin_scripts",
    "compute_loop",
    "dominated",
    "examine_machine",
    "expand_distribution",
    "machine_schema",
    "missing_programs",
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
    "recursion",
    "schedule",
    "script_demands",
    "script_lines",
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
    rows: int
    superseded: dict[str, str]

class _Defect(TypedDict):
    severity: Literal["note", "error"]
    law: str
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

SOURCES: str

def vocabulary() -> list[_Table]: ...
def machine_schema() -> dict[str, Any]: ...

class NativePlayError(RuntimeError): ...

class _Distribution(TypedDict):
    kind: Literal[
        "deterministic",
        "exponential",
        "hyperexponential",
        "erlang",
        "lognormal",
        "weibull",
        "bounded_pareto",
        "uniform",
        "geometric",
        "integers",
        "discrete",
        "empirical",
        "mixture",
    ]
    value: NotRequired[float]
    mean: NotRequired[float]
    max: NotRequired[float]
    sd: NotRequired[float]
    shape: NotRequired[float]
    scale: NotRequired[float]
    low: NotRequired[float]
    high: NotRequired[float]
    weights: NotRequired[list[float]]
    means: NotRequired[list[float]]
    values: NotRequired[list[float]]
    cumulative: NotRequired[list[float]]
    of: NotRequired[list[_Distribution]]

class _WorkloadClass(TypedDict):
    name: str
    weight: float
    compute_iterations: _Distribution
    file_blocks: _Distribution
    write_share: float
    seek_share: float
    sync_share: float
    pause_s: _Distribution
    output_lines: _Distribution
    forks: _Distribution
    exec_share: float
    fresh_pages: _Distribution

class _Workload(TypedDict):
    name: str
    iteration_s: float
    array_bytes: int
    scratch_blocks: int
    classes: list[_WorkloadClass]

class _PlayOptions(TypedDict):
    workload: _Workload
    users: str
    step_s: float
    ramp_s: float | None
    think: _Distribution | str
    open_loop: bool
    seed: int
    scratch: str
    baseline_s: float
    groups: NotRequired[list[str]]

class _ScheduleStep(TypedDict):
    at_s: float
    users: int

class _Schedule(TypedDict):
    steps: list[_ScheduleStep]
    end_s: float

class _PlayProgress(TypedDict):
    elapsed_s: float
    end_s: float
    users: int
    started: int
    completed: int
    response_s: float | None

class _Calibration(TypedDict):
    steps_per_s: float
    low: float
    high: float
    n: int

class _MedianInterval(TypedDict):
    median: float | None
    low: float | None
    high: float | None
    n: int

class _Baseline(TypedDict):
    n: int
    users: int
    response_s: _MedianInterval
    response_max_s: float
    reaction_s: _MedianInterval | None
    service_s: _MedianInterval | None
    driver_cpu_s: float

class _Prepared(TypedDict):
    calibration: _Calibration
    baseline: _Baseline | None

class _InteractionDemand(TypedDict):
    n: int
    service_s: float
    low_s: float
    high_s: float
    response_s: float

class _PlayAccounts(TypedDict):
    cpu_time: Literal["group", "processes"]
    waits: bool

class _PlayOutcome(TypedDict):
    elapsed_s: float
    completed: int
    unfinished: int
    dropped: int
    late: int
    without_wait: int
    timed_out: int
    unexpected_prompts: int
    lateness_mean_s: float
    lateness_max_s: float
    lost: int
    driver_cpu_s: float
    stopped: bool
    accounts: _PlayAccounts | None
    sessions: dict[str, int]

class _StepSummary(TypedDict):
    users: int
    n: int
    unfinished: int
    response_mean_s: float | None
    response_median_s: float | None
    response_p95_s: float | None
    service_mean_s: float | None

class _Played(TypedDict):
    outcome: _PlayOutcome
    steps: list[_StepSummary]
    driver_problem: str | None

class _ScriptOptions(TypedDict):
    script: _Script
    users: str
    step_s: float
    ramp_s: float | None
    think: _Distribution | str | None
    open_loop: bool
    seed: int
    scratch: str
    baseline_s: float
    on: str | None
    login_timeout_s: float

class _PlannedLine(TypedDict):
    command: str
    think_s: float
    types: str
    until: str

class _DirectCost(TypedDict):
    request: str
    seconds: float
    low: float
    high: float
    n: int
    method: str
    gross_seconds: float
    real_seconds: float
    page_faults_minor: float
    context_switches: float

@final
class NativeNursery:
    def __new__(cls, command: Sequence[str]) -> NativeNursery: ...
    def prepare(self, options: _PlayOptions, on_progress: Callable[[_PlayProgress], bool]) -> _Prepared: ...
    def play(
        self,
        options: _PlayOptions,
        prepared: _Prepared,
        writer: NativeLogWriter,
        on_progress: Callable[[_PlayProgress], bool],
    ) -> _Played: ...
    def floor(
        self, options: _ScriptOptions, on_progress: Callable[[_PlayProgress], bool]
    ) -> _Baseline | None: ...
    def play_script(
        self,
        options: _ScriptOptions,
        floor: _Baseline | None,
        writer: NativeLogWriter,
        on_progress: Callable[[_PlayProgress], bool],
    ) -> _Played: ...
    def rehearse(
        self, options: _PlayOptions, prepared: _Prepared, on_progress: Callable[[_PlayProgress], bool]
    ) -> _InteractionDemand: ...
    def measure_direct(
        self, array_bytes: int, on_progress: Callable[[_PlayProgress], bool]
    ) -> list[_DirectCost]: ...
    def close(self) -> None: ...

def serve_nursery() -> None: ...
def workload(name: str) -> _Workload: ...
def read_workload(text: str) -> _Workload: ...
def compute_loop(burst_ms: int) -> _Distribution: ...
def schedule(users: str, step_s: float, ramp_s: float | None = None) -> _Schedule: ...
def script_lines(options: _ScriptOptions, user: int) -> list[_PlannedLine]: ...
def missing_programs(options: _ScriptOptions) -> list[str]: ...
def parse_distribution(description: object) -> _Distribution: ...
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
    method: Literal["auto", "procfs", "taskstats", "iterator"]
    commands: int
    arguments: bool
    trace: bool
    trace_events: bool
    trace_attach: Literal["auto", "tp_btf", "raw_tracepoint", "tracepoint"]
    mode_sampling: bool
    gauges_every_s: float | None
    anonymous: bool
    anonymous_key: str | None
    root: str | None
    keep_bytes: int | None
    keep_days: float | None
    listen: str | None
    textfile: str | None

class _Progress(TypedDict):
    samples: int
    elapsed_s: float
    busy: float | None
    active_users: int | None
    written_bytes: int

class _RecordSummary(TypedDict):
    samples_taken: int
    samples: int
    samples_lost: int
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
    on_notice: Callable[[str], None] | None = None,
) -> _RecordSummary: ...

class _Prediction(TypedDict):
    fits: int | None
    low: int | None
    high: int | None
    knee: tuple[int, int] | None
    limit: str
    goal: str
    by_people: bool

class _How(TypedDict):
    at: str | None
    speed: float

@final
class NativeView:
    def __new__(cls, *, mouse: bool) -> NativeView: ...
    def predict(self, prediction: _Prediction) -> None: ...
    def cannot_predict(self, reason: str) -> None: ...
    def show(self, log: Path, how: _How) -> None: ...
    def record(
        self,
        log: Path | None,
        mode: _Mode,
        options: _RecordOptions,
        opened: Callable[[Path], None],
    ) -> _RecordSummary: ...

class _Session(TypedDict):
    source: str
    boot_id: NotRequired[str]
    machine: dict[str, Any]
    options: dict[str, Any]
    start_us: int
    end_us: NotRequired[int]

class _Ability(TypedDict):
    item: str
    state: Literal["measured", "partly", "zero", "absent"]
    evidence: str
    remedy: str | None

class _SampleCost(TypedDict):
    item: str
    cpu_s: float | None
    note: str

class _Examination(TypedDict):
    machine: dict[str, Any]
    abilities: list[_Ability]
    costs: list[_SampleCost]
    processes: int

def record_session(options: _RecordOptions) -> _Session: ...
def examine_machine() -> tuple[str, _Examination]: ...
def mva(demands: Sequence[float], think: float, population: int) -> tuple[float, bytes, bytes, bytes]: ...
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
def recursion(columns: int, correlation: float, rows: bytes) -> bytes: ...

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
    def responses(self) -> list[tuple[str, str, str, tuple[int, float] | None]]: ...
    def check_cost(self, count: int, limits: tuple[int, int]) -> None: ...
    def run(
        self,
        seed: int,
        first: int,
        count: int,
        *,
        limits: tuple[int, int],
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
    def distributions(self, index: int) -> list[list[tuple[float, int]]] | None: ...
    def laws(self) -> list[tuple[str, list[str]]]: ...

class _Parameter(TypedDict):
    name: str
    unit: str
    default: Any
    allowed: str
    description: str
    source: str
    reference: str
    compared_with_calibration: bool

class _System(TypedDict):
    name: str
    summary: str
    parameters: list[_Parameter]

class _ScriptCommand(TypedDict):
    heavy: bool

class _ScriptInteraction(TypedDict):
    command: str
    types: str
    think: float | _Distribution
    wait_for: NotRequired[str]
    wait_pattern: NotRequired[str]
    wait_silence: NotRequired[float]
    wait: NotRequired[bool]
    time_out: NotRequired[float]
    multics: NotRequired[dict[str, float | _Distribution]]
    ctss: NotRequired[dict[str, float | _Distribution]]

class _TerminalFile(TypedDict):
    path: str
    text: str

class _Terminal(TypedDict):
    shell: Literal["sh", "bash"]
    needs: list[str]
    typing: _Distribution
    time_out: float
    variables: dict[str, list[str]]
    file: list[_TerminalFile]

class _Script(TypedDict):
    name: str
    description: str
    terminal: NotRequired[_Terminal]
    commands: dict[str, _ScriptCommand]
    interaction: list[_ScriptInteraction]

class _ScriptDemand(TypedDict):
    system: Literal["multics", "ctss"]
    name: str
    unit: str
    default: float | None
    description: str

def simulated_systems() -> list[_System]: ...
def builtin_scripts() -> Sequence[tuple[str, str]]: ...
def read_script(text: str, file: str, system: str | None = None) -> _Script: ...
def script_demands() -> list[_ScriptDemand]: ...
