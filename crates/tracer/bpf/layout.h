/* Memory that the programs share with the recorder; src/layout.rs says the same in Rust, and a test compares them. */
#ifndef THINKTIME_LAYOUT_H
#define THINKTIME_LAYOUT_H

#define CALLS 512
#define ACCOUNTS 2048
/* The upper bits of the hash of a key, as many as the places need: the lower ones do not know the last letters of a name. */
#define ACCOUNT_HASH_SHIFT (64 - 11)
#define PROBES 64
#define REQUESTS 16384
#define BUCKETS 63
#define BUCKET_SHIFT 7

/* Why a task leaves its CPU; what it waits for, unless it is runnable or ended. */
#define REASON_PREEMPTED 0
#define REASON_EXIT 1
#define REASON_IO 2
#define REASON_PAGE_IO 3
#define REASON_FUTEX 4
#define REASON_TIMER 5
#define REASON_CHILD 6
#define REASON_INPUT 7
#define REASON_OUTPUT 8
#define REASON_POLL 9
#define REASON_SLEEP 10
#define REASON_UNINTERRUPTIBLE 11
#define REASON_STOPPED 12
#define REASONS 13
/* Of a task that has not run yet. */
#define REASON_STARTED 13
/* Of a switch to a task that did not wait. */
#define NOTHING 14

#define QUEUE_WOKEN 0
#define QUEUE_STARTED 1
#define QUEUE_PREEMPTED 2

#define REQUEST_READ 0
#define REQUEST_WRITE 1
#define REQUEST_FLUSH 2
#define REQUEST_DISCARD 3
#define REQUEST_OTHER 4

/* Kinds of durations: a quantity and its reason. */
#define KIND_SLICE 0
#define KIND_WAIT 13
#define KIND_QUEUE 26
#define KIND_REQUEST 29
#define KINDS 34

#define TASK_IS_UNKNOWN 0
#define TASK_RUNS 1
#define TASK_IS_QUEUED 2
#define TASK_WAITS 3

/* What is known of a task, in a cache line of its own: tasks of neighbouring numbers run on different CPUs. */
#define TASKS (1 << 16)
/* Room for those whose place is another's, where the kernel does not keep them with the task itself. */
#define OTHER_TASKS (1 << 14)

struct task {
    /* Whose this is: number of the thread, or place of its structure; 0 if it is nobody's. */
    u64 tag;
    u64 since_ns;
    /* Where the scheduler's own times are used: how long it had waited for CPUs in all when it left its CPU. Where not:
     * when the wait began after which it is queued, or 0 if that was not seen. */
    u64 before_ns;
    /* Its account, and the state that the account had when it was found. */
    u32 account;
    u32 mark;
    u8 state;
    u8 reason;
    /* What follows is used where the structures of the kernel cannot be read: what the task told of itself when it had its
     * CPU. Number of its process, 0 if that is not known; its user; its name, in two halves. */
    u8 is_kernel;
    u8 unused;
    u32 process;
    u64 name;
    u64 rest;
    u32 owner;
    u32 unused_too;
};

#define TASK_BYTES 64
#define TASK_KERNEL_AT 34
#define TASK_PROCESS_AT 36
#define TASK_NAME_AT 40
#define TASK_OWNER_AT 56

/* What a CPU is known for. */
struct cpu {
    /* The clock of the programs less that of the scheduler, and when it was compared. */
    u64 ahead_ns;
    u64 compared_ns;
};

/* State of an account: these, and above them a number that each new owner of the place increases. */
#define ACCOUNT_FREE 0
#define ACCOUNT_TAKEN 1
#define ACCOUNT_READY 2
#define ACCOUNT_RETIRED 3
#define ACCOUNT_STATES 4

/* Added to the owner of a thread of the kernel. */
#define OWNER_IS_KERNEL (1ull << 63)

/* A user and a program: the kernel's name for it, in two halves. */
struct account {
    u64 owner;
    u64 name;
    u64 rest;
    u32 state;
    /* Number of the histogram of each kind; 0 before its first duration. */
    u32 slots[KINDS];
};

#define ACCOUNT_BYTES 168
#define ACCOUNT_STATE_AT 24
#define ACCOUNT_SLOTS_AT 28
#define HISTOGRAM_BYTES 1344
#define LINE_BYTES 64
#define SHARED_BYTES 48

struct bucket {
    u64 count;
    u64 total_ns;
};

/* Some buckets, in a cache line of their own, with the number of durations whose counting is done: a reader who finds it
 * equal to the sum of the counts has read a whole. */
#define LINE_BUCKETS 3

struct line {
    u64 done;
    struct bucket buckets[LINE_BUCKETS];
    u64 unused;
};

struct histogram {
    struct line lines[BUCKETS / LINE_BUCKETS];
};

struct shared {
    /* Numbers of histograms that were taken from the list of free ones, and given to it: the recorder writes the second. */
    u64 slots_taken;
    u64 slots_given;
    u64 accounts_lost;
    u64 durations_lost;
    u64 unseen;
    /* Set by the recorder once all programs are attached: what one sees before, another has not seen. */
    u64 begun;
};

/* Records of one CPU that the recorder has not read yet. */
#define RING (1 << 16)
/* Interrupts that may write to the ring at the same time. */
#define RING_SPARE 8

#define RECORD_SWITCH 0
#define RECORD_FORK 1
#define RECORD_EXEC 2
#define RECORD_EXIT 3
#define RECORD_ISSUE 4
#define RECORD_COMPLETION 5

/* No amount: its beginning was not seen. */
#define UNKNOWN (~0ull)

/* What happened: a switch is one record, with the task that leaves the CPU, the one that comes, and what that one
 * waited for. A cache line. */
struct record {
    /* The place in the ring, counted from 1: written last. */
    u32 sequence;
    u8 kind;
    /* Why the task left, or kind of request. */
    u8 reason;
    /* How the one that comes was queued, and what it had waited for. */
    u8 queued;
    u8 waited;
    u64 time_ns;
    /* Nanoseconds, or bytes. */
    u64 amount;
    u64 queued_ns;
    u64 waited_ns;
    u32 task;
    u32 process;
    /* The task that comes; 0 if none does. */
    u32 next_task;
    u32 next_process;
    u16 account;
    u16 next_account;
    u32 unused;
};

struct ring {
    /* Records written, and read: the programs write the first, the recorder the second. */
    u64 head;
    u64 lost;
    u64 unused[6];
    u64 tail;
    u64 unused_too[7];
};

#define RECORD_BYTES 64
#define RING_BYTES 128
#define RING_TAIL_AT 64

/* What is told of each thread. */
struct thread {
    u64 run_ns;
    u64 wait_ns;
    /* What the threads of its process that have ended waited for CPUs, where the kernel keeps it; else UNKNOWN. */
    u64 ended_wait_ns;
    u32 task;
    u32 process;
    /* Its effective user. */
    u32 owner;
    /* It waits for a CPU now. */
    u8 is_queued;
    /* It has ended: its waits are in those of the threads that have. */
    u8 has_ended;
    u16 unused;
};

#define THREAD_BYTES 40
/* Most threads that a walk tells of, and one: the place of the first says how many there are. */
#define THREADS (1 << 13)

struct threads {
    u32 count;
    /* There are others, of which nothing is told. */
    u32 has_more;
    u64 unused[4];
};

struct in_progress {
    u64 since_ns;
    u32 account;
    u32 mark;
    u32 task;
    u32 process;
};

_Static_assert(sizeof(struct account) == ACCOUNT_BYTES, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct account, state) == ACCOUNT_STATE_AT, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct account, slots) == ACCOUNT_SLOTS_AT, "as in layout.rs");
_Static_assert(sizeof(struct histogram) == HISTOGRAM_BYTES, "as in layout.rs");
_Static_assert(sizeof(struct line) == LINE_BYTES, "as in layout.rs");
_Static_assert(sizeof(struct thread) == THREAD_BYTES, "as in layout.rs");
_Static_assert(sizeof(struct threads) == THREAD_BYTES, "in the place of a thread");
_Static_assert(sizeof(struct record) == RECORD_BYTES, "as in layout.rs");
_Static_assert(sizeof(struct task) == TASK_BYTES, "as in layout.rs, and a cache line");
_Static_assert(__builtin_offsetof(struct task, is_kernel) == TASK_KERNEL_AT, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct task, process) == TASK_PROCESS_AT, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct task, name) == TASK_NAME_AT, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct task, owner) == TASK_OWNER_AT, "as in layout.rs");
_Static_assert(sizeof(struct ring) == RING_BYTES, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct ring, tail) == RING_TAIL_AT, "as in layout.rs");
_Static_assert(sizeof(struct shared) == SHARED_BYTES, "as in layout.rs");

#endif
