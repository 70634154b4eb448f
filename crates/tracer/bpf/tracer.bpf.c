/* Where the time of tasks goes: slices, waits for a CPU and other waits, and requests of disks.
 *
 * One program at each switch of a task measures all that concerns the scheduler: when the task that comes was queued is
 * in the kernel's structure of it. No program runs at a wake-up, unless the kernel does not keep such times.
 *
 * Compiled twice: for tracepoints with typed arguments, and with RAW for those whose arguments are mere numbers, where the
 * structures behind them are read by a call.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0
 */
#ifdef RAW
#define TASKS_BY_NUMBER
#endif
#include "tasks.h"

char terms[] SECTION("license") = "Dual MIT/GPL";

const volatile u32 owner_is_session = 0;
/* The scheduler's own times of queueing are used. */
const volatile u32 by_scheduler = 0;
/* The kernel lets programs see the registers of a task, and so its system call. */
const volatile u32 sees_calls = 1;
/* The reason of an interruptible wait, by the number of the system call. */
const volatile u8 reason_of_call[CALLS] = {};

#ifdef RAW
#define AT(tracepoint) SECTION("raw_tp/" tracepoint)
#else
#define AT(tracepoint) SECTION("tp_btf/" tracepoint)

/* Tasks whose place in the table of tasks is another's. */
struct {
    MAP_NUMBER(type, MAP_TYPE_TASK_STORAGE);
    MAP_NUMBER(map_flags, MAP_FLAG_NO_PREALLOC);
    int *key;
    struct task *value;
} others SECTION(".maps");
#endif

/* Requests in progress. One that finds no room is counted as lost. */
struct {
    MAP_NUMBER(type, MAP_TYPE_HASH);
    MAP_NUMBER(map_flags, MAP_FLAG_NO_PREALLOC);
    MAP_NUMBER(max_entries, REQUESTS);
    u64 *key;
    struct in_progress *value;
} requests SECTION(".maps");

INLINE struct task *task_of(struct task_struct *process)
{
    u64 tag = (u32)READ(process->pid);

#ifdef RAW
    return task_numbered(tag);
#else
    struct task *task = place_of(tag);
    return task ? task : task_storage(&others, process, 0, STORAGE_CREATE);
#endif
}

INLINE u64 owner_of(struct task_struct *task)
{
    u64 owner = READ(task->flags) & FLAG_KERNEL_THREAD ? OWNER_IS_KERNEL : 0;

    if (owner_is_session)
        return owner | (u32)READ(READ(READ(task->signal)->pids[PID_OF_SESSION])->numbers[0].nr);
    return owner | READ(READ(task->cred)->euid.val);
}

/* The account that a task belongs to at this moment: it may have changed its user, or run another program. */
INLINE struct account *account_of(struct task_struct *process, struct task *task)
{
    struct task_struct *leader = READ(process->group_leader);

    return account_with(task, owner_of(process), READ(*(u64 *)&leader->comm[0]), READ(*(u64 *)&leader->comm[8]));
}

/* The account that a task had when it left its CPU: it has done nothing since. */
INLINE struct account *last_account_of(struct task_struct *process, struct task *task)
{
    u32 index = task->account;
    struct account *account = account_at(index);

    return account && index && account->state == task->mark ? account : account_of(process, task);
}

/* Number of the system call that the task is in which leaves its CPU; beyond all if it is in none. */
INLINE u64 call_of(struct task_struct *task)
{
#ifdef RAW
    /* The same task, with its type. */
    task = this_task();
#endif
    struct pt_regs *registers = registers_of(task);

    if (!registers)
        return ~0ull;
    if (HAS_FIELD(registers->orig_ax))
        return registers->orig_ax;
    struct pt_regs___arm *of_arm = (struct pt_regs___arm *)registers;
    return (u64)(s64)of_arm->syscallno;
}

/* Why a task leaves its CPU. */
INLINE u32 reason_of(struct task_struct *task, u32 is_preempted, u64 state)
{
    if (is_preempted || !state)
        return REASON_PREEMPTED;
    if (state & STATE_DEAD)
        return REASON_EXIT;
    if (state & (STATE_STOPPED | STATE_TRACED | STATE_PARKED | STATE_FROZEN))
        return REASON_STOPPED;
    u32 is_in_kernel = READ(task->flags) & (FLAG_KERNEL_THREAD | FLAG_USER_WORKER | FLAG_IO_WORKER);
    if (state & STATE_LOCK_WAIT)
        return REASON_UNINTERRUPTIBLE;
    if (state & STATE_UNINTERRUPTIBLE && !(state & STATE_NO_LOAD)) {
        if (!is_waiting_for_io(task))
            return REASON_UNINTERRUPTIBLE;
        return sees_calls && !is_in_kernel && call_of(task) >= CALLS ? REASON_PAGE_IO : REASON_IO;
    }
    if (is_in_kernel || !sees_calls)
        return REASON_SLEEP;
    u64 call = call_of(task);
    return call < CALLS ? reason_of_call[call] : REASON_SLEEP;
}

/* Histogram 0 of a CPU is nobody's. What is known of the CPU lies there, in a page that is in use anyway. */
INLINE struct cpu *cpu_at(u32 number)
{
    u32 place = number * histograms_per_cpu;

    return map_lookup(&histograms, &place);
}

/* How far the clock of the programs is ahead of that by which the scheduler takes its times: both were read when this
 * task came to the CPU, first the other. What came in between makes the difference too large: the smallest is kept, but
 * may grow by a thousandth of the time, since clocks are adjusted. They are compared every half a millisecond. */
INLINE void compare_clocks(struct task_struct *process, u64 came_ns, u32 number)
{
    const u32 often_shift = 19, growth_shift = 10;
    struct cpu *cpu = cpu_at(number);

    if (!cpu)
        return;
    u64 passed_ns = came_ns - cpu->compared_ns;
    if (!(passed_ns >> often_shift))
        return;
    u64 ahead_ns = came_ns - READ(process->sched_info.last_arrival);
    s64 most_ns = (s64)(passed_ns >> growth_shift);
    if (cpu->compared_ns && (s64)(ahead_ns - cpu->ahead_ns) > most_ns)
        ahead_ns = cpu->ahead_ns + most_ns;
    cpu->ahead_ns = ahead_ns;
    cpu->compared_ns = came_ns;
}

INLINE void leaves(struct task_struct *process, u32 is_preempted, u64 state, u64 now, u32 cpu, struct told *told)
{
    struct task *task = task_of(process);

    if (!task)
        return;
    struct account *account = account_of(process, task);
    if (!account)
        return;
    u32 reason = reason_of(process, is_preempted, state);
    if (task->state == TASK_RUNS && by_scheduler && HAS_FIELD(process->sched_info.last_arrival))
        compare_clocks(process, task->since_ns, cpu);
    has_left(task, account, reason, now, cpu, told);
    task->before_ns = by_scheduler && HAS_FIELD(process->sched_info.run_delay) ? READ(process->sched_info.run_delay) : 0;
    if (reason == REASON_EXIT)
        forget(task);
}

/* How long a task was queued that comes to its CPU, by the scheduler's own times; how, and what it waited for before. */
INLINE void queued_by_scheduler(struct task_struct *process, struct task *task, u64 now, u32 number, struct told *told)
{
    struct cpu *cpu = cpu_at(number);
    u64 since_ns = READ(process->sched_info.last_queued);

    if (!cpu || !cpu->compared_ns || !since_ns)
        return;
    since_ns += cpu->ahead_ns;
    /* With the time in the queues of other CPUs, from which it was moved to this one. */
    u64 queued_ns = (now > since_ns ? now - since_ns : 0) + READ(process->sched_info.run_delay);
    if (!READ(process->sched_info.pcount)) {
        told->queued = QUEUE_STARTED;
        told->waited = REASON_STARTED;
        told->queued_ns = queued_ns;
        return;
    }
    if (task->state != TASK_WAITS && task->state != TASK_IS_QUEUED)
        return;
    u64 away_ns = now - task->since_ns;
    queued_ns -= task->before_ns;
    /* If it was queued all the time, a signal kept it from blocking after all. */
    if (task->state == TASK_IS_QUEUED || queued_ns >= away_ns) {
        told->queued_ns = away_ns;
        return;
    }
    told->queued = QUEUE_WOKEN;
    told->queued_ns = queued_ns;
    told->waited = task->reason;
    told->waited_ns = away_ns - queued_ns;
}

INLINE void arrives(struct task_struct *process, u64 now, u32 cpu, struct told *told)
{
    struct task *task = task_of(process);

    if (!task)
        return;
    struct account *account = last_account_of(process, task);
    if (!account)
        return;
    if (by_scheduler && HAS_FIELD(process->sched_info.last_queued))
        queued_by_scheduler(process, task, now, cpu, told);
    else
        queued_as_seen(task, now, told);
    has_come(task, account, now, cpu, told);
}

AT("sched_switch")
int on_switch(u64 *arguments)
{
    struct task_struct *previous = (struct task_struct *)arguments[1];
    struct task_struct *next = (struct task_struct *)arguments[2];
    u64 now = now_ns();
    u32 cpu = this_cpu();
    struct told told = NOTHING_TOLD;
    u32 task = READ(previous->pid);
    u32 next_task = READ(next->pid);

    if (!by_scheduler && !has_begun())
        return 0;
    if (task)
        leaves(previous, arguments[0] & 1, arguments[3], now, cpu, &told);
    if (next_task)
        arrives(next, now, cpu, &told);
    if (wants_events)
        tell_switch(&told, task, READ(previous->tgid), next_task, READ(next->tgid), now, cpu);
    return 0;
}

/* Attached only where the times of the scheduler cannot be used. */
INLINE int wakes(struct task_struct *process, u32 is_new)
{
    struct task *task = has_begun() ? task_of(process) : 0;

    if (task)
        is_woken(task, is_new);
    return 0;
}

AT("sched_wakeup")
int on_wakeup(u64 *arguments)
{
    return wakes((struct task_struct *)arguments[0], 0);
}

AT("sched_wakeup_new")
int on_start(u64 *arguments)
{
    return wakes((struct task_struct *)arguments[0], 1);
}

INLINE u32 kind_of_request(u32 flags)
{
    switch (flags & 0xff) {
    case 0:
        return REQUEST_READ;
    case 1:
        return REQUEST_WRITE;
    case 2:
        return REQUEST_FLUSH;
    case 3:
    case 5:
        return REQUEST_DISCARD;
    default:
        return REQUEST_OTHER;
    }
}

AT("block_rq_issue")
int on_issue(u64 *arguments)
{
    struct request *request = (struct request *)arguments[0];
    struct task_struct *process = this_task();
    struct task unknown = {};
    u32 number = READ(process->pid);
    struct task *task = number ? task_of(process) : 0;

    if (!task)
        task = &unknown;
    struct in_progress begun = {.since_ns = now_ns()};
    account_of(process, task);
    begun.account = task->account;
    begun.mark = task->mark;
    begun.task = number;
    begun.process = READ(process->tgid);
    tell(RECORD_ISSUE, kind_of_request(READ(request->cmd_flags)), begun.task, begun.process, begun.account, begun.since_ns,
         READ(request->__data_len), this_cpu());
    u64 key = (u64)request;
    if (map_update(&requests, &key, &begun, 0)) {
        struct shared *of_all = totals();
        if (of_all)
            __sync_fetch_and_add(&of_all->durations_lost, 1);
    }
    return 0;
}

AT("block_rq_complete")
int on_completion(u64 *arguments)
{
    struct request *request = (struct request *)arguments[0];
    u64 key = (u64)request;
    struct in_progress *begun = map_lookup(&requests, &key);

    /* Completed in part: the rest will be. */
    if (!begun || (u32)arguments[2] < READ(request->__data_len))
        return 0;
    struct in_progress of_request = *begun;
    u32 index = of_request.account;
    struct account *account = account_at(index);
    /* It may be another's by now. */
    if (account && account->state != of_request.mark) {
        index = 0;
        account = account_at(0);
    }
    u32 kind = kind_of_request(READ(request->cmd_flags));
    u64 now = now_ns();
    u32 cpu = this_cpu();
    map_delete(&requests, &key);
    if (account)
        count_interruptible(account, KIND_REQUEST + kind, now - of_request.since_ns, cpu);
    tell(RECORD_COMPLETION, kind, of_request.task, of_request.process, index, now, now - of_request.since_ns, cpu);
    return 0;
}

/* Events of the life of a task, attached only where events are wanted. */
INLINE int lives(struct task_struct *process, u32 kind, u64 amount, u64 now)
{
    struct task *task = task_of(process);

    if (!task)
        return 0;
    account_of(process, task);
    tell(kind, 0, READ(process->pid), READ(process->tgid), task->account, now, amount, this_cpu());
    return 0;
}

AT("sched_process_fork")
int on_fork(u64 *arguments)
{
    return lives((struct task_struct *)arguments[1], RECORD_FORK, UNKNOWN, now_ns());
}

AT("sched_process_exec")
int on_exec(u64 *arguments)
{
    return lives((struct task_struct *)arguments[0], RECORD_EXEC, UNKNOWN, now_ns());
}

AT("sched_process_exit")
int on_exit(u64 *arguments)
{
    struct task_struct *process = (struct task_struct *)arguments[0];
    u64 now = now_ns();

    return lives(process, RECORD_EXIT, now - READ(process->start_time), now);
}
