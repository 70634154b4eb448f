"""Which metric is which column: the exporters that are read, and the columns that vLLM adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thinktime.sources.importers.readings import PAGE_FAULTS, Rule, rules_of

if TYPE_CHECKING:
    from thinktime.log import Column

CPU_MODES = {
    "user": "user_s",
    "nice": "nice_s",
    "system": "system_s",
    "irq": "irq_s",
    "softirq": "softirq_s",
    "steal": "steal_s",
    "idle": "idle_s",
    "iowait": "iowait_s",
}

_NODE = {
    "node_cpu_seconds_total": Rule(table="cpus", column="", by="mode", columns=CPU_MODES, whole=False),
    **rules_of(
        "samples",
        {
            "node_context_switches_total": "context_switches",
            "node_intr_total": "interrupts",
            "node_forks_total": "forks",
            "node_vmstat_pgfault": PAGE_FAULTS,
            "node_vmstat_pgmajfault": "page_faults_major",
            "node_vmstat_pswpin": "swap_in_pages",
            "node_vmstat_pswpout": "swap_out_pages",
        },
    ),
    # The kernel counts both in units of 1024 bytes.
    "node_vmstat_pgpgin": Rule(table="samples", column="paged_in_bytes", scale=1024),
    "node_vmstat_pgpgout": Rule(table="samples", column="paged_out_bytes", scale=1024),
    **rules_of(
        "samples",
        {
            "node_pressure_cpu_waiting_seconds_total": "psi_cpu_some_s",
            "node_pressure_memory_waiting_seconds_total": "psi_memory_some_s",
            "node_pressure_memory_stalled_seconds_total": "psi_memory_full_s",
            "node_pressure_io_waiting_seconds_total": "psi_io_some_s",
            "node_pressure_io_stalled_seconds_total": "psi_io_full_s",
        },
        whole=False,
    ),
    **rules_of(
        "samples",
        {
            "node_procs_running": "runnable",
            "node_procs_blocked": "blocked",
            "node_processes_pids": "processes",
            "node_processes_threads": "threads",
            "node_memory_MemTotal_bytes": "memory_total_bytes",
            "node_memory_MemFree_bytes": "memory_free_bytes",
            "node_memory_MemAvailable_bytes": "memory_available_bytes",
            "node_memory_Buffers_bytes": "memory_buffers_bytes",
            "node_memory_Cached_bytes": "memory_cached_bytes",
            "node_memory_AnonPages_bytes": "memory_anonymous_bytes",
            "node_memory_Dirty_bytes": "memory_dirty_bytes",
            "node_memory_Slab_bytes": "memory_slab_bytes",
            "node_memory_PageTables_bytes": "memory_page_tables_bytes",
            "node_memory_Committed_AS_bytes": "memory_committed_bytes",
            "node_memory_SwapTotal_bytes": "swap_total_bytes",
            "node_memory_SwapFree_bytes": "swap_free_bytes",
        },
        counter=False,
    ),
    **rules_of(
        "samples",
        {"node_load1": "load_1m", "node_load5": "load_5m", "node_load15": "load_15m"},
        counter=False,
        whole=False,
    ),
    **rules_of(
        "disks",
        {
            "node_disk_reads_completed_total": "reads",
            "node_disk_writes_completed_total": "writes",
            "node_disk_read_bytes_total": "read_bytes",
            "node_disk_written_bytes_total": "write_bytes",
        },
    ),
    **rules_of(
        "disks",
        {
            "node_disk_read_time_seconds_total": "read_wait_s",
            "node_disk_write_time_seconds_total": "write_wait_s",
            "node_disk_io_time_seconds_total": "busy_s",
            "node_disk_io_time_weighted_seconds_total": "queue_s",
        },
        whole=False,
    ),
    "node_disk_io_now": Rule(table="disks", column="in_progress", counter=False),
    **rules_of(
        "interfaces",
        {
            "node_network_receive_packets_total": "packets_in",
            "node_network_transmit_packets_total": "packets_out",
            "node_network_receive_bytes_total": "bytes_in",
            "node_network_transmit_bytes_total": "bytes_out",
            "node_network_receive_errs_total": "errors",
            "node_network_transmit_errs_total": "errors",
            "node_network_receive_drop_total": "drops",
            "node_network_transmit_drop_total": "drops",
        },
    ),
}

_CADVISOR = {
    **rules_of(
        "groups",
        {
            "container_cpu_usage_seconds_total": "cpu_s",
            "container_cpu_user_seconds_total": "user_s",
            "container_cpu_system_seconds_total": "system_s",
            "container_cpu_cfs_throttled_seconds_total": "throttled_s",
            "container_pressure_cpu_waiting_seconds_total": "psi_cpu_some_s",
            "container_pressure_memory_waiting_seconds_total": "psi_memory_some_s",
            "container_pressure_memory_stalled_seconds_total": "psi_memory_full_s",
            "container_pressure_io_waiting_seconds_total": "psi_io_some_s",
            "container_pressure_io_stalled_seconds_total": "psi_io_full_s",
        },
        whole=False,
    ),
    **rules_of(
        "groups",
        {
            "container_cpu_cfs_throttled_periods_total": "throttled_periods",
            "container_cpu_cfs_periods_total": "periods",
            "container_fs_reads_bytes_total": "read_bytes",
            "container_fs_writes_bytes_total": "write_bytes",
            "container_fs_reads_total": "reads",
            "container_fs_writes_total": "writes",
            "container_oom_events_total": "memory_oom_kills",
        },
    ),
    **rules_of(
        "groups",
        {
            "container_memory_usage_bytes": "memory_bytes",
            "container_memory_rss": "memory_anonymous_bytes",
            "container_memory_cache": "memory_file_bytes",
            "container_memory_swap": "memory_swap_bytes",
            "container_memory_max_usage_bytes": "memory_peak_bytes",
            "container_spec_memory_limit_bytes": "memory_limit_bytes",
        },
        counter=False,
    ),
}

_PROCESSES = {
    "namedprocess_namegroup_cpu_seconds_total": Rule(
        table="commands", column="", by="mode", columns={"user": "user_s", "system": "system_s"}, whole=False
    ),
    "namedprocess_namegroup_memory_bytes": Rule(
        table="commands", column="", by="memtype", columns={"resident": "memory_bytes"}, counter=False
    ),
    "namedprocess_namegroup_num_procs": Rule(table="commands", column="processes", counter=False),
    **rules_of(
        "commands",
        {
            "namedprocess_namegroup_minor_page_faults_total": "page_faults_minor",
            "namedprocess_namegroup_major_page_faults_total": "page_faults_major",
            "namedprocess_namegroup_read_bytes_total": "read_bytes",
            "namedprocess_namegroup_write_bytes_total": "write_bytes",
        },
    ),
}

_VLLM = {
    **rules_of(
        "samples",
        {
            "vllm:num_requests_running": "vllm_requests_running",
            "vllm:num_requests_waiting": "vllm_requests_waiting",
        },
        counter=False,
    ),
    **rules_of(
        "samples",
        {
            "vllm:e2e_request_latency_seconds_count": "vllm_requests_completed",
            "vllm:prompt_tokens_total": "vllm_prompt_tokens",
            "vllm:generation_tokens_total": "vllm_generation_tokens",
            "vllm:num_preemptions_total": "vllm_preemptions",
        },
    ),
    **rules_of(
        "samples",
        {
            "vllm:e2e_request_latency_seconds_sum": "vllm_response_s",
            "vllm:time_to_first_token_seconds_sum": "vllm_first_token_s",
            "vllm:request_queue_time_seconds_sum": "vllm_queue_s",
            "vllm:request_prefill_time_seconds_sum": "vllm_prefill_s",
            "vllm:request_decode_time_seconds_sum": "vllm_decode_s",
        },
        whole=False,
    ),
    **{
        name: Rule(table="samples", column="vllm_kv_cache_share", counter=False, whole=False, greatest=True)
        for name in ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
    },
}

RULES: dict[str, Rule] = {**_NODE, **_CADVISOR, **_PROCESSES, **_VLLM}
"""Rule of each metric that is read, by its name."""
BOOT, TIME, UNAME = "node_boot_time_seconds", "node_time_seconds", "node_uname_info"
"""Metrics that say when the machine booted, when the scrape was, and which machine it is."""
PREFIXES = ("node_", "container_", "namedprocess_", "vllm:")
"""Exporters by the beginning of their names."""


def own_columns() -> tuple[Column, ...]:
    """Columns that vLLM adds to `samples`."""
    from thinktime.log import Column

    def column(name: str, of: str, unit: str, kind: str, description: str, role: str | None = None) -> Column:
        return Column(name=name, type=of, unit=unit, kind=kind, description=description, role=role)  # type: ignore[arg-type]

    counters = {
        "vllm_response_s": "Time from arrival to the end, summed over the requests that were completed",
        "vllm_first_token_s": "Time from arrival to the first token, summed over the requests",
        "vllm_queue_s": "Time that requests waited before they ran, summed over those completed",
        "vllm_prefill_s": "Time of prefill, summed over the requests that were completed",
        "vllm_decode_s": "Time of decoding, summed over the requests that were completed",
    }
    return (
        column("vllm_requests_running", "u64", "request", "gauge", "Requests that vLLM runs"),
        column("vllm_requests_waiting", "u64", "request", "gauge", "Requests that wait in vLLM"),
        column(
            "vllm_requests_completed",
            "u64",
            "request",
            "counter",
            "Requests that vLLM completed",
            role="request",
        ),
        column("vllm_prompt_tokens", "u64", "token", "counter", "Tokens of prompts that were processed"),
        column("vllm_generation_tokens", "u64", "token", "counter", "Tokens that were generated"),
        column("vllm_preemptions", "u64", "event", "counter", "Requests that were preempted"),
        *(column(name, "f64", "s", "counter", words) for name, words in counters.items()),
        column(
            "vllm_kv_cache_share",
            "f64",
            "",
            "gauge",
            "Share of the KV cache in use, the greatest of the engines",
        ),
    )
