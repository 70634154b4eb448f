/* Which threads have run, and for how long they waited: the scheduler's own counters, in one pass over all threads.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0
 */
#include "kernel.h"
#include "layout.h"

char terms[] SECTION("license") = "Dual MIT/GPL";

/* Threads of the last walk; the first place is that of `struct threads`. The loader makes it small where nobody walks. */
struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, THREADS);
    u32 *key;
    struct thread *value;
} threads SECTION(".maps");

/* It is runnable, and has no CPU. Kernels may leave the mark of a thread that is queued to one that sleeps. */
INLINE u32 is_queued(struct task_struct *thread)
{
    if (!thread->sched_info.last_queued)
        return 0;
    if (HAS_FIELD(thread->__state))
        return thread->__state == STATE_RUNNING;
    return ((struct task_struct___old *)thread)->state == STATE_RUNNING;
}

INLINE u64 waits_of_ended(struct task_struct *thread)
{
    struct signal_struct *signal = thread->signal;

    if (!HAS_FIELD(signal->stats))
        return UNKNOWN;
    struct taskstats *of_ended = signal->stats;
    return of_ended ? of_ended->cpu_delay_total : 0;
}

/* An iterator: the kernel calls it for each thread. The loader knows no section of that name: this one only says that
 * arguments are typed. */
SECTION("tp_btf/iterator")
int on_thread(struct bpf_iter__task *iterator)
{
    struct task_struct *thread = iterator->task;

    if (!thread)
        return 0;
    struct thread record = {
        .run_ns = thread->se.sum_exec_runtime,
        .wait_ns = thread->sched_info.run_delay,
        .ended_wait_ns = waits_of_ended(thread),
        .task = thread->pid,
        .process = thread->tgid,
        .owner = thread->cred->euid.val,
        .is_queued = is_queued(thread),
        .has_ended = thread->exit_state != 0,
    };
    write_sequence(iterator->meta->seq, &record, sizeof(record));
    return 0;
}

/* The same by a walk along the kernel's own list, into memory that the recorder reads: the kernel neither looks up numbers
 * nor copies. Many kernels let no other task have the CPU meanwhile, so that it ends where the memory does. */
SECTION("tp_btf/walk")
int on_walk(void *unused)
{
    struct bpf_iter_task place;
    struct task_struct *thread;
    u32 first = 0;
    struct threads *walked = (struct threads *)map_lookup(&threads, &first);

    (void)unused;
    if (!walked)
        return 0;
    walked->count = 0;
    walked->has_more = 0;
    hold_lists();
    begin_walk(&place, 0, WALK_ALL_THREADS);
    while ((thread = next_thread(&place))) {
        u64 run_ns = thread->se.sum_exec_runtime;
        u32 number = thread->pid, process = thread->tgid;

        /* What a CPU does when it has nothing to do. */
        if (!number)
            continue;
        u32 at = walked->count + 1;
        struct thread *record = map_lookup(&threads, &at);
        if (!record) {
            walked->has_more = 1;
            break;
        }
        walked->count = at;
        record->wait_ns = thread->sched_info.run_delay;
        record->is_queued = is_queued(thread);
        record->has_ended = thread->exit_state != 0;
        /* Of one that has not run, what lies beyond its own structure is as it was; but how long others waited that have
         * ended is read of all but the first one of each process. */
        u32 is_known = record->task == number && record->run_ns == run_ns;
        if (!is_known)
            record->owner = thread->cred->euid.val;
        if (!is_known || number != process)
            record->ended_wait_ns = waits_of_ended(thread);
        record->run_ns = run_ns;
        record->task = number;
        record->process = process;
    }
    end_walk(&place);
    release_lists();
    return 0;
}
