/* What is known of tasks, and how it changes at switches and wake-ups: the same however the programs are attached.
 */
#ifndef THINKTIME_TASKS_H
#define THINKTIME_TASKS_H

#include "counting.h"

/* The place in the table of tasks for the one with this number; none if it is another's. */
INLINE struct task *place_of(u64 tag)
{
    u32 index = (u32)tag & (TASKS - 1);
    struct task *task = map_lookup(&tasks, &index);

    if (!task)
        return 0;
    if (task->tag == tag)
        return task;
    if (!task->tag && !__sync_val_compare_and_swap(&task->tag, 0, tag))
        return task;
    return 0;
}

#ifdef TASKS_BY_NUMBER
/* Tasks whose place in the table of tasks is another's; who has not run for longest makes room. */
struct {
    MAP_NUMBER(type, MAP_TYPE_LRU_HASH);
    MAP_NUMBER(max_entries, OTHER_TASKS);
    u64 *key;
    struct task *value;
} others SECTION(".maps");

INLINE struct task *task_numbered(u64 tag)
{
    struct task *task = place_of(tag);

    if (task)
        return task;
    task = map_lookup(&others, &tag);
    if (task)
        return task;
    struct task fresh = {.tag = tag};
    map_update(&others, &tag, &fresh, 0);
    return map_lookup(&others, &tag);
}
#endif

/* The task has ended: its place is free for another. */
INLINE void forget(struct task *task)
{
    task->state = TASK_IS_UNKNOWN;
    task->account = 0;
    task->is_kernel = 0;
    task->process = 0;
    task->name = 0;
    BARRIER();
    task->tag = 0;
}

/* What a switch tells of it, if events are wanted. */
struct told {
    u64 slice_ns;
    u64 queued_ns;
    u64 waited_ns;
    u32 account;
    u32 next_account;
    u8 reason;
    u8 queued;
    u8 waited;
};

#define NOTHING_TOLD                                      \
    {                                                     \
        .slice_ns = UNKNOWN,                              \
        .queued_ns = UNKNOWN,                             \
        .waited_ns = UNKNOWN,                             \
        .queued = QUEUE_PREEMPTED,                        \
        .waited = NOTHING,                                \
    }

/* Counts the slice that ends as the task leaves its CPU, if its beginning was seen. */
INLINE void has_left(struct task *task, struct account *account, u32 reason, u64 now, u32 cpu, struct told *told)
{
    if (task->state == TASK_RUNS) {
        told->slice_ns = now - task->since_ns;
        count(account, KIND_SLICE + reason, told->slice_ns, cpu);
    } else {
        unseen();
    }
    told->reason = reason;
    told->account = task->account;
    task->state = reason == REASON_PREEMPTED ? TASK_IS_QUEUED : TASK_WAITS;
    task->reason = reason;
    task->since_ns = now;
}

/* How long a task was queued that comes to its CPU, how, and what it waited for before, by what the programs saw. */
INLINE void queued_as_seen(struct task *task, u64 now, struct told *told)
{
    u8 reason = task->reason;

    if (task->state != TASK_IS_QUEUED && task->state != TASK_WAITS)
        return;
    told->queued = QUEUE_PREEMPTED;
    told->queued_ns = now - task->since_ns;
    if (task->state == TASK_WAITS || reason == REASON_PREEMPTED)
        return;
    told->queued = reason == REASON_STARTED ? QUEUE_STARTED : QUEUE_WOKEN;
    told->waited = reason;
    if (task->before_ns)
        told->waited_ns = task->since_ns - task->before_ns;
}

INLINE void now_runs(struct task *task, u64 now)
{
    task->state = TASK_RUNS;
    task->since_ns = now;
    task->before_ns = 0;
}

/* Counts what the task waited for that has its CPU now. */
INLINE void has_come(struct task *task, struct account *account, u64 now, u32 cpu, struct told *told)
{
    if (told->queued_ns == UNKNOWN)
        unseen();
    else
        count(account, KIND_QUEUE + told->queued, told->queued_ns, cpu);
    if (told->waited_ns != UNKNOWN)
        count(account, KIND_WAIT + told->waited, told->waited_ns, cpu);
    told->next_account = task->account;
    now_runs(task, now);
}

/* The task is ready for a CPU. */
INLINE void is_woken(struct task *task, u32 is_new)
{
    if (is_new) {
        task->reason = REASON_STARTED;
        task->before_ns = 0;
    } else if (task->state == TASK_WAITS) {
        task->before_ns = task->since_ns;
    } else if (task->state == TASK_IS_UNKNOWN) {
        /* When its wait began was not seen. */
        task->reason = REASON_SLEEP;
        task->before_ns = 0;
    } else {
        /* It had not left its CPU yet. */
        return;
    }
    task->state = TASK_IS_QUEUED;
    task->since_ns = now_ns();
}

INLINE void tell_switch(const struct told *told, u32 task, u32 process, u32 next_task, u32 next_process, u64 now, u32 cpu)
{
    u32 sequence = 0;
    struct record *record = reserve(cpu, 0, &sequence);

    if (!record)
        return;
    record->kind = RECORD_SWITCH;
    record->reason = told->reason;
    record->queued = told->queued;
    record->waited = told->waited;
    record->time_ns = now;
    record->amount = told->slice_ns;
    record->queued_ns = told->queued_ns;
    record->waited_ns = told->waited_ns;
    record->task = task;
    record->process = process;
    record->next_task = next_task;
    record->next_process = next_process;
    record->account = told->account;
    record->next_account = told->next_account;
    submit(record, sequence);
}

#endif
