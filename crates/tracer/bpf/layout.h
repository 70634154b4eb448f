/* Memory that the programs share with the recorder; src/layout.rs says the same in Rust, and a test compares them. */
#ifndef THINKTIME_LAYOUT_H
#define THINKTIME_LAYOUT_H

#define CALLS 512
#define ACCOUNTS 2048
#define PROBES 32
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

struct task {
    u64 since_ns;
    /* When the wait began after which it is queued; 0 if it was not seen. */
    u64 blocked_ns;
    u32 account;
    u8 state;
    u8 reason;
};

#define ACCOUNT_FREE 0
#define ACCOUNT_TAKEN 1
#define ACCOUNT_READY 2

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
#define HISTOGRAM_BYTES 1024
#define SHARED_BYTES 32

struct bucket {
    u64 count;
    u64 total_ns;
};

struct histogram {
    /* Durations whose counting has begun, and is done: a reader who finds them equal has read a whole. */
    u64 begun;
    u64 done;
    struct bucket buckets[BUCKETS];
};

struct shared {
    u64 histograms_taken;
    u64 accounts_lost;
    u64 durations_lost;
    u64 unseen;
};

/* Events of one CPU that the recorder has not read yet. */
#define RING (1 << 17)
/* Interrupts that may write to the ring at the same time. */
#define RING_SPARE 8

#define EVENT_SWITCH_OUT 0
#define EVENT_DISPATCH 1
#define EVENT_WAKE_UP 2
#define EVENT_FORK 3
#define EVENT_EXEC 4
#define EVENT_EXIT 5
#define EVENT_ISSUE 6
#define EVENT_COMPLETION 7

/* No amount: its beginning was not seen. */
#define UNKNOWN (~0ull)

struct event {
    /* The place in the ring, counted from 1: written last. */
    u32 sequence;
    u32 task;
    u32 process;
    u16 account;
    u8 kind;
    /* Reason, or kind of request. */
    u8 reason;
    u64 time_ns;
    /* Nanoseconds, or bytes. */
    u64 amount;
};

struct ring {
    /* Events written, and read: the programs write the first, the recorder the second. */
    u64 head;
    u64 lost;
    u64 unused[6];
    u64 tail;
    u64 unused_too[7];
};

#define EVENT_BYTES 32
#define RING_BYTES 128
#define RING_TAIL_AT 64

/* What the iterator tells of each thread. */
struct thread {
    u64 run_ns;
    u64 wait_ns;
    u32 task;
    u32 process;
};

#define THREAD_BYTES 24

struct in_progress {
    u64 since_ns;
    u32 account;
    u32 task;
    u32 process;
};

_Static_assert(sizeof(struct account) == ACCOUNT_BYTES, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct account, state) == ACCOUNT_STATE_AT, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct account, slots) == ACCOUNT_SLOTS_AT, "as in layout.rs");
_Static_assert(sizeof(struct histogram) == HISTOGRAM_BYTES, "as in layout.rs");
_Static_assert(sizeof(struct thread) == THREAD_BYTES, "as in layout.rs");
_Static_assert(sizeof(struct event) == EVENT_BYTES, "as in layout.rs");
_Static_assert(sizeof(struct ring) == RING_BYTES, "as in layout.rs");
_Static_assert(__builtin_offsetof(struct ring, tail) == RING_TAIL_AT, "as in layout.rs");
_Static_assert(sizeof(struct shared) == SHARED_BYTES, "as in layout.rs");

#endif
