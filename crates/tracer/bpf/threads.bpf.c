/* Which threads have run: their times by the scheduler's own counters, in one pass over all of them.
 *
 * SPDX-License-Identifier: MIT OR GPL-2.0
 */
#include "kernel.h"
#include "layout.h"

char terms[] SECTION("license") = "Dual MIT/GPL";

/* An iterator. The loader knows no section of that name: this one only says that arguments are typed. */
SECTION("tp_btf/iterator")
int on_thread(struct bpf_iter__task *iterator)
{
    struct task_struct *thread = iterator->task;

    if (!thread)
        return 0;
    struct thread record = {
        .run_ns = thread->se.sum_exec_runtime,
        .wait_ns = thread->sched_info.run_delay,
        .task = thread->pid,
        .process = thread->tgid,
    };
    write_sequence(iterator->meta->seq, &record, sizeof(record));
    return 0;
}
