/* Where the time of tasks goes: slices, waits for a CPU and other waits, and requests of disks.
 *
 * Durations are counted in histograms, by user, program, kind of duration and reason. Each CPU has its own, so that
 * CPUs do not wait for each other's cache lines; the recorder maps all of them into its memory and adds them up.
 * If it wants the events themselves, each CPU writes them to a ring of its own, which the recorder reads in the same
 * way: neither needs a system call.
 *
 * The programs of the scheduler run with interrupts disabled: on one CPU they do not interrupt each other, and add
 * without atomic operations. Those of disks may be interrupted.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0
 */
#include "kernel.h"
#include "layout.h"

char terms[] SECTION("license") = "Dual MIT/GPL";

/* What the recorder chooses before the programs are loaded: the kernel leaves out the code that is not used. */
const volatile u32 wants_events = 0;
const volatile u32 owner_is_session = 0;
const volatile u32 has_state_argument = 1;
/* The reason of an interruptible wait, by the number of the system call. */
const volatile u8 reason_of_call[CALLS] = {};

struct {
    MAP_NUMBER(type, MAP_TYPE_TASK_STORAGE);
    MAP_NUMBER(map_flags, MAP_FLAG_NO_PREALLOC);
    int *key;
    struct task *value;
} tasks SECTION(".maps");

struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, ACCOUNTS);
    u32 *key;
    struct account *value;
} accounts SECTION(".maps");

/* The loader makes it as large as the number of CPUs demands. */
struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    struct histogram *value;
} histograms SECTION(".maps");

struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    struct shared *value;
} shared SECTION(".maps");

/* Events, and the state of the ring, of each CPU; made for one event where none are wanted. */
struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    struct event *value;
} events SECTION(".maps");

struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    struct ring *value;
} rings SECTION(".maps");

/* Requests in progress. One that finds no room is counted as lost. */
struct {
    MAP_NUMBER(type, MAP_TYPE_HASH);
    MAP_NUMBER(map_flags, MAP_FLAG_NO_PREALLOC);
    MAP_NUMBER(max_entries, REQUESTS);
    u64 *key;
    struct in_progress *value;
} requests SECTION(".maps");

const volatile u32 histograms_per_cpu = 1;

INLINE struct shared *totals(void)
{
    u32 zero = 0;
    return map_lookup(&shared, &zero);
}

/* Two buckets for each doubling, from 128 ns. */
INLINE u32 bucket_of(u64 ns)
{
    u64 rest = ns >> BUCKET_SHIFT;
    u32 doublings = 0;

    if (!rest)
        return 0;
    if (rest >> 16) {
        doublings += 16;
        rest >>= 16;
    }
    if (rest >> 8) {
        doublings += 8;
        rest >>= 8;
    }
    if (rest >> 4) {
        doublings += 4;
        rest >>= 4;
    }
    if (rest >> 2) {
        doublings += 2;
        rest >>= 2;
    }
    if (rest >> 1)
        doublings += 1;
    u32 half = (ns >> (BUCKET_SHIFT - 1 + doublings)) & 1;
    u32 bucket = 1 + 2 * doublings + half;
    /* The last bucket has no upper bound. */
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

INLINE u64 owner_of(struct task_struct *task)
{
    u64 owner = task->flags & FLAG_KERNEL_THREAD ? OWNER_IS_KERNEL : 0;

    if (owner_is_session)
        return owner | (u32)task->signal->pids[PID_OF_SESSION]->numbers[0].nr;
    return owner | task->cred->euid.val;
}

/* The account of this user and program; 0, which is that of all others, if there is no room. */
static __attribute__((noinline)) u32 open_account(u64 owner, u64 name, u64 rest)
{
    u32 start = (u32)((owner * 0x9e3779b97f4a7c15ull ^ name * 0xc2b2ae3d27d4eb4full ^ rest * 0x165667b19e3779f9ull) >> 40);

    for (u32 step = 0; step < PROBES; step++) {
        u32 index = (start + step) & (ACCOUNTS - 1);
        if (index == 0)
            continue;
        struct account *account = map_lookup(&accounts, &index);
        if (!account)
            return 0;
        if (account->state == ACCOUNT_FREE &&
            __sync_val_compare_and_swap(&account->state, ACCOUNT_FREE, ACCOUNT_TAKEN) == ACCOUNT_FREE) {
            account->owner = owner;
            account->name = name;
            account->rest = rest;
            /* The key before the state, for readers on other CPUs. */
            __sync_lock_test_and_set(&account->state, ACCOUNT_READY);
            return index;
        }
        if (account->state == ACCOUNT_READY && account->owner == owner && account->name == name &&
            account->rest == rest)
            return index;
        /* Another CPU may be opening this very account: then there are two of it, which the recorder adds up. */
    }
    struct shared *of_all = totals();
    if (of_all)
        __sync_fetch_and_add(&of_all->accounts_lost, 1);
    return 0;
}

/* The account that a task belongs to at this moment: it may have changed its user, or run another program. */
INLINE struct account *account_of(struct task_struct *process, struct task *task)
{
    struct task_struct *leader = process->group_leader;
    u64 owner = owner_of(process);
    u64 name = *(u64 *)&leader->comm[0];
    u64 rest = *(u64 *)&leader->comm[8];
    u32 index = task->account;
    struct account *account = map_lookup(&accounts, &index);

    if (account && index != 0 && account->owner == owner && account->name == name && account->rest == rest &&
        account->state == ACCOUNT_READY)
        return account;
    index = open_account(owner, name, rest);
    task->account = index;
    return map_lookup(&accounts, &index);
}

/* The account that a task had when it left its CPU: it has done nothing since. */
INLINE struct account *last_account_of(struct task_struct *process, struct task *task)
{
    u32 index = task->account;

    return index ? map_lookup(&accounts, &index) : account_of(process, task);
}

static __attribute__((noinline)) u32 open_histogram(struct account *account, u32 kind)
{
    struct shared *of_all = totals();

    if (!account || !of_all || kind >= KINDS)
        return 0;
    u64 taken = of_all->histograms_taken;
    if (taken + 1 >= histograms_per_cpu) {
        __sync_fetch_and_add(&of_all->durations_lost, 1);
        return 0;
    }
    u32 slot = (u32)__sync_fetch_and_add(&of_all->histograms_taken, 1) + 1;
    if (slot >= histograms_per_cpu) {
        __sync_fetch_and_add(&of_all->durations_lost, 1);
        return 0;
    }
    u32 other = __sync_val_compare_and_swap(&account->slots[kind], 0, slot);
    /* Another CPU was faster: the slot that is not needed stays unused. */
    return other ? other : slot;
}

INLINE struct histogram *histogram_of(struct account *account, u32 kind, u32 cpu)
{
    if (kind >= KINDS)
        return 0;
    u32 slot = account->slots[kind];
    if (!slot) {
        slot = open_histogram(account, kind);
        if (!slot)
            return 0;
    }
    u32 index = cpu * histograms_per_cpu + slot;
    return map_lookup(&histograms, &index);
}

/* Counts a duration. Nothing that counts in the same histogram of this CPU can interrupt it. */
INLINE void count(struct account *account, u32 kind, u64 ns, u32 cpu)
{
    struct histogram *histogram = histogram_of(account, kind, cpu);

    if (!histogram)
        return;
    struct bucket *bucket = &histogram->buckets[bucket_of(ns)];
    histogram->begun++;
    BARRIER();
    bucket->count++;
    bucket->total_ns += ns;
    BARRIER();
    histogram->done++;
}

/* The same where an interrupt may count in between. */
INLINE void count_interruptible(struct account *account, u32 kind, u64 ns, u32 cpu)
{
    struct histogram *histogram = histogram_of(account, kind, cpu);

    if (!histogram)
        return;
    struct bucket *bucket = &histogram->buckets[bucket_of(ns)];
    __sync_fetch_and_add(&histogram->begun, 1);
    __sync_fetch_and_add(&bucket->count, 1);
    __sync_fetch_and_add(&bucket->total_ns, ns);
    __sync_fetch_and_add(&histogram->done, 1);
}

/* Writes an event to the ring of this CPU, if events are wanted. */
INLINE void tell(u32 kind, u32 reason, u32 task, u32 process, u32 account, u64 time_ns, u64 amount, u32 cpu)
{
    if (!wants_events)
        return;
    struct ring *ring = map_lookup(&rings, &cpu);
    if (!ring)
        return;
    if (ring->head - *(volatile u64 *)&ring->tail >= RING - RING_SPARE) {
        __sync_fetch_and_add(&ring->lost, 1);
        return;
    }
    u64 place = __sync_fetch_and_add(&ring->head, 1);
    u32 index = cpu * RING + (u32)(place & (RING - 1));
    struct event *event = map_lookup(&events, &index);
    if (!event)
        return;
    event->task = task;
    event->process = process;
    event->account = account;
    event->kind = kind;
    event->reason = reason;
    event->time_ns = time_ns;
    event->amount = amount;
    /* After all else, for the reader on another CPU. */
    __sync_lock_test_and_set(&event->sequence, (u32)place + 1);
}

/* Number of the system call that a task is in; beyond all if it is in none. */
INLINE u64 call_of(struct task_struct *task)
{
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
    u32 is_in_kernel = task->flags & (FLAG_KERNEL_THREAD | FLAG_USER_WORKER | FLAG_IO_WORKER);
    if (state & STATE_LOCK_WAIT)
        return REASON_UNINTERRUPTIBLE;
    if (state & STATE_UNINTERRUPTIBLE && !(state & STATE_NO_LOAD)) {
        if (!is_waiting_for_io(task))
            return REASON_UNINTERRUPTIBLE;
        return !is_in_kernel && call_of(task) >= CALLS ? REASON_PAGE_IO : REASON_IO;
    }
    if (is_in_kernel)
        return REASON_SLEEP;
    u64 call = call_of(task);
    return call < CALLS ? reason_of_call[call] : REASON_SLEEP;
}

/* The beginning of what ends was not seen: before the first switch of a task, and where the kernel told of none. */
INLINE void unseen(void)
{
    struct shared *of_all = totals();
    if (of_all)
        __sync_fetch_and_add(&of_all->unseen, 1);
}

INLINE void leaves(struct task_struct *process, u32 is_preempted, u64 state, u64 now, u32 cpu)
{
    struct task *task = task_storage(&tasks, process, 0, STORAGE_CREATE);

    if (!task)
        return;
    struct account *account = account_of(process, task);
    if (!account)
        return;
    u32 reason = reason_of(process, is_preempted, state);
    u64 slice_ns = UNKNOWN;
    if (task->state == TASK_RUNS) {
        slice_ns = now - task->since_ns;
        count(account, KIND_SLICE + reason, slice_ns, cpu);
    } else {
        unseen();
    }
    tell(EVENT_SWITCH_OUT, reason, process->pid, process->tgid, task->account, now, slice_ns, cpu);
    task->blocked_ns = 0;
    task->state = reason == REASON_PREEMPTED ? TASK_IS_QUEUED : TASK_WAITS;
    task->reason = reason;
    task->since_ns = now;
}

INLINE void arrives(struct task_struct *process, u64 now, u32 cpu)
{
    struct task *task = task_storage(&tasks, process, 0, STORAGE_CREATE);

    if (!task)
        return;
    struct account *account = last_account_of(process, task);
    if (!account)
        return;
    u8 reason = task->reason;
    u32 how = QUEUE_PREEMPTED;
    u64 queued_ns = now - task->since_ns;
    if (task->state == TASK_IS_QUEUED) {
        if (reason != REASON_PREEMPTED)
            how = reason == REASON_STARTED ? QUEUE_STARTED : QUEUE_WOKEN;
        count(account, KIND_QUEUE + how, queued_ns, cpu);
        if (task->blocked_ns) {
            count(account, KIND_WAIT + reason, task->since_ns - task->blocked_ns, cpu);
        }
    } else if (task->state == TASK_WAITS) {
        /* A signal kept it from blocking after all: it was runnable all the time. */
        count(account, KIND_QUEUE + how, queued_ns, cpu);
    } else {
        queued_ns = UNKNOWN;
        unseen();
    }
    tell(EVENT_DISPATCH, how, process->pid, process->tgid, task->account, now, queued_ns, cpu);
    task->blocked_ns = 0;
    task->state = TASK_RUNS;
    task->since_ns = now;
}

SECTION("tp_btf/sched_switch")
int on_switch(u64 *arguments)
{
    struct task_struct *previous = (struct task_struct *)arguments[1];
    struct task_struct *next = (struct task_struct *)arguments[2];
    u64 now = now_ns();
    u32 cpu = this_cpu();

    if (previous->pid)
        leaves(previous, arguments[0] & 1, arguments[3], now, cpu);
    if (next->pid)
        arrives(next, now, cpu);
    return 0;
}

INLINE int wakes(struct task_struct *process, u32 is_new)
{
    struct task *task = task_storage(&tasks, process, 0, STORAGE_CREATE);

    if (!task)
        return 0;
    u64 now = now_ns();
    u64 waited_ns = UNKNOWN;
    if (is_new) {
        task->reason = REASON_STARTED;
    } else if (task->state == TASK_WAITS) {
        task->blocked_ns = task->since_ns;
        waited_ns = now - task->since_ns;
    } else if (task->state == TASK_IS_UNKNOWN) {
        /* When its wait began was not seen. */
        task->reason = REASON_SLEEP;
    } else {
        /* It had not left its CPU yet. */
        return 0;
    }
    task->state = TASK_IS_QUEUED;
    task->since_ns = now;
    if (wants_events) {
        last_account_of(process, task);
        tell(EVENT_WAKE_UP, task->reason, process->pid, process->tgid, task->account, now, waited_ns, this_cpu());
    }
    return 0;
}

SECTION("tp_btf/sched_wakeup")
int on_wakeup(u64 *arguments)
{
    return wakes((struct task_struct *)arguments[0], 0);
}

SECTION("tp_btf/sched_wakeup_new")
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

SECTION("tp_btf/block_rq_issue")
int on_issue(u64 *arguments)
{
    struct request *request = (struct request *)arguments[0];
    struct task_struct *process = this_task();
    struct task unknown = {};
    struct task *task = task_storage(&tasks, process, 0, STORAGE_CREATE);

    if (!task)
        task = &unknown;
    struct in_progress begun = {.since_ns = now_ns()};
    account_of(process, task);
    begun.account = task->account;
    begun.task = process->pid;
    begun.process = process->tgid;
    tell(EVENT_ISSUE, kind_of_request(request->cmd_flags), begun.task, begun.process, begun.account, begun.since_ns,
         request->__data_len, this_cpu());
    u64 key = (u64)request;
    if (map_update(&requests, &key, &begun, 0)) {
        struct shared *of_all = totals();
        if (of_all)
            __sync_fetch_and_add(&of_all->durations_lost, 1);
    }
    return 0;
}

SECTION("tp_btf/block_rq_complete")
int on_completion(u64 *arguments)
{
    struct request *request = (struct request *)arguments[0];
    u64 key = (u64)request;
    struct in_progress *begun = map_lookup(&requests, &key);

    /* Completed in part: the rest will be. */
    if (!begun || (u32)arguments[2] < request->__data_len)
        return 0;
    struct in_progress of_request = *begun;
    u32 index = of_request.account;
    struct account *account = map_lookup(&accounts, &index);
    u32 kind = kind_of_request(request->cmd_flags);
    u64 now = now_ns();
    u32 cpu = this_cpu();
    map_delete(&requests, &key);
    if (account)
        count_interruptible(account, KIND_REQUEST + kind, now - of_request.since_ns, cpu);
    tell(EVENT_COMPLETION, kind, of_request.task, of_request.process, index, now, now - of_request.since_ns, cpu);
    return 0;
}

/* Events of the life of a task, attached only where events are wanted. */
INLINE int lives(struct task_struct *process, u32 kind, u64 amount, u64 now)
{
    struct task *task = task_storage(&tasks, process, 0, STORAGE_CREATE);

    if (!task)
        return 0;
    account_of(process, task);
    tell(kind, 0, process->pid, process->tgid, task->account, now, amount, this_cpu());
    return 0;
}

SECTION("tp_btf/sched_process_fork")
int on_fork(u64 *arguments)
{
    return lives((struct task_struct *)arguments[1], EVENT_FORK, UNKNOWN, now_ns());
}

SECTION("tp_btf/sched_process_exec")
int on_exec(u64 *arguments)
{
    return lives((struct task_struct *)arguments[0], EVENT_EXEC, UNKNOWN, now_ns());
}

SECTION("tp_btf/sched_process_exit")
int on_exit(u64 *arguments)
{
    struct task_struct *process = (struct task_struct *)arguments[0];
    u64 now = now_ns();

    return lives(process, EVENT_EXIT, now - process->start_time, now);
}
