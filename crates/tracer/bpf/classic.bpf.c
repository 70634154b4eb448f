/* The same without the kernel's structures: all that these programs know is in the fields of the tracepoints, whose places
 * the kernel tells in text, and what helpers say of the task that has the CPU.
 *
 * A task's user, process and name are noted when it leaves its CPU, and when it is made; of tasks that were there before,
 * the loader notes them. A thread counts for the name of the first thread of its process, as elsewhere.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0
 */
#define TASKS_BY_NUMBER
#include "tasks.h"

char terms[] SECTION("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct event_sched_switch {
    char prev_comm[16];
    int prev_pid;
    long prev_state;
    int next_pid;
};

struct event_sched_wakeup {
    int pid;
};

struct event_sched_wakeup_new {
    int pid;
};

struct event_task_newtask {
    int pid;
    u64 clone_flags;
};

#pragma clang attribute pop

/* State of a task, as tracepoints have it: the kernel's bits below these two, and one for all tasks that stay runnable. */
#define TOLD_UNINTERRUPTIBLE 0x2
#define TOLD_STOPPED (0x4 | 0x8 | 0x40)
#define TOLD_DEAD (0x10 | 0x20)
#define TOLD_RUNNABLE 0x100

/* The new task is a thread of the process that makes it. */
#define CLONE_THREAD 0x10000
/* Makes the threads of the kernel. */
#define KERNEL_PARENT 2

/* What is known of a task, whoever it is; nothing if none of it is. */
INLINE struct task *known(u64 tag)
{
    u32 index = (u32)tag & (TASKS - 1);
    struct task *task = map_lookup(&tasks, &index);

    return task && task->tag == tag ? task : map_lookup(&others, &tag);
}

/* The account of a task by what is known of it. */
INLINE struct account *account_of(struct task *task, u32 number)
{
    u64 name = task->name;
    u64 rest = task->rest;

    if (task->process != number) {
        struct task *first = known(task->process);
        if (first && first->name) {
            name = first->name;
            rest = first->rest;
        }
    }
    return account_with(task, task->owner | (task->is_kernel ? OWNER_IS_KERNEL : 0), name, rest);
}

/* Notes what the task tells of itself that has the CPU. */
INLINE void meet(struct task *task, u64 name, u64 rest)
{
    task->process = (u32)(this_number() >> 32);
    task->owner = (u32)this_user();
    task->name = name;
    task->rest = rest;
}

INLINE u32 reason_of(u64 state)
{
    if (!state || state & TOLD_RUNNABLE)
        return REASON_PREEMPTED;
    if (state & TOLD_DEAD)
        return REASON_EXIT;
    if (state & TOLD_STOPPED)
        return REASON_STOPPED;
    return state & TOLD_UNINTERRUPTIBLE ? REASON_UNINTERRUPTIBLE : REASON_SLEEP;
}

INLINE u32 leaves(struct event_sched_switch *event, u32 number, u64 now, u32 cpu, struct told *told)
{
    struct task *task = task_numbered(number);

    if (!task)
        return 0;
    meet(task, *(u64 *)&event->prev_comm[0], *(u64 *)&event->prev_comm[8]);
    u32 process = task->process;
    struct account *account = account_of(task, number);
    if (!account)
        return process;
    u32 reason = reason_of(event->prev_state);
    has_left(task, account, reason, now, cpu, told);
    task->before_ns = 0;
    if (reason == REASON_EXIT)
        forget(task);
    return process;
}

INLINE u32 arrives(u32 number, u64 now, u32 cpu, struct told *told)
{
    struct task *task = task_numbered(number);

    if (!task)
        return 0;
    u32 index = task->account;
    struct account *account = account_at(index);
    if (!account)
        return 0;
    if (!index || account->state != task->mark)
        account = task->name ? account_of(task, number) : 0;
    if (account) {
        /* Without a wake-up, one came while another program ran on its CPU: the kernel then leaves this one out. */
        if (task->state != TASK_WAITS)
            queued_as_seen(task, now, told);
        has_come(task, account, now, cpu, told);
        return task->process;
    }
    /* Nobody knows whose it is before it leaves its CPU. */
    unseen();
    now_runs(task, now);
    return task->process;
}

SECTION("tracepoint/sched/sched_switch")
int on_switch(struct event_sched_switch *event)
{
    u64 now = now_ns();
    u32 cpu = this_cpu();
    struct told told = NOTHING_TOLD;
    u32 task = event->prev_pid;
    u32 next_task = event->next_pid;
    u32 process = 0, next_process = 0;

    if (!has_begun())
        return 0;
    if (task)
        process = leaves(event, task, now, cpu, &told);
    if (next_task)
        next_process = arrives(next_task, now, cpu, &told);
    if (wants_events)
        tell_switch(&told, task, process, next_task, next_process, now, cpu);
    return 0;
}

INLINE int wakes(u32 number, u32 is_new)
{
    struct task *task = number && has_begun() ? task_numbered(number) : 0;

    if (task)
        is_woken(task, is_new);
    return 0;
}

SECTION("tracepoint/sched/sched_wakeup")
int on_wakeup(struct event_sched_wakeup *event)
{
    return wakes(event->pid, 0);
}

SECTION("tracepoint/sched/sched_wakeup_new")
int on_start(struct event_sched_wakeup_new *event)
{
    return wakes(event->pid, 1);
}

/* A task is made by the one that has the CPU: it has its user and its name. */
SECTION("tracepoint/task/task_newtask")
int on_fork(struct event_task_newtask *event)
{
    u32 number = event->pid;
    u64 parent = this_number();
    u64 name[2] = {};
    struct task *task = task_numbered(number);

    if (!task)
        return 0;
    this_name(name, sizeof(name));
    meet(task, name[0], name[1]);
    task->state = TASK_IS_UNKNOWN;
    task->account = 0;
    task->is_kernel = (u32)parent == KERNEL_PARENT;
    if (!(event->clone_flags & CLONE_THREAD))
        task->process = number;
    if (wants_events) {
        account_of(task, number);
        tell(RECORD_FORK, 0, number, task->process, task->account, now_ns(), UNKNOWN, this_cpu());
    }
    return 0;
}

/* Events of the life of the task that has the CPU, attached only where events are wanted. */
INLINE int lives(u32 kind)
{
    u64 both = this_number();
    u32 number = (u32)both;
    u64 name[2] = {};
    struct task *task = task_numbered(number);

    if (!task)
        return 0;
    this_name(name, sizeof(name));
    meet(task, name[0], name[1]);
    account_of(task, number);
    tell(kind, 0, number, both >> 32, task->account, now_ns(), UNKNOWN, this_cpu());
    return 0;
}

SECTION("tracepoint/sched/sched_process_exec")
int on_exec(void *event)
{
    (void)event;
    return lives(RECORD_EXEC);
}

SECTION("tracepoint/sched/sched_process_exit")
int on_exit(void *event)
{
    (void)event;
    return lives(RECORD_EXIT);
}
