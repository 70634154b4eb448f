/* Accounts, histograms and rings: what all programs share that measure, however they are attached.
 *
 * Durations are counted in histograms, by user, program, kind of duration and reason. Each CPU has its own, so that
 * CPUs do not wait for each other's cache lines; the recorder maps all of them into its memory and adds them up.
 * If it wants the events themselves, each CPU writes them to a ring of its own, which the recorder reads in the same
 * way: neither needs a system call.
 *
 * The programs of the scheduler run with interrupts disabled: on one CPU they do not interrupt each other, and add
 * without atomic operations. Those of disks may be interrupted.
 */
#ifndef THINKTIME_COUNTING_H
#define THINKTIME_COUNTING_H

#include "kernel.h"
#include "layout.h"

/* What the recorder chooses before the programs are loaded: the kernel leaves out the code that is not used. */
const volatile u32 wants_events = 0;
/* Stores become visible in the order of the program, without instructions that see to it. */
const volatile u32 stores_in_order = 0;
const volatile u32 histograms_per_cpu = 1;

struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(max_entries, TASKS);
    u32 *key;
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

/* Numbers of histograms that are free: the recorder puts them there, the programs take them in that order. */
struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    u64 *value;
} slots SECTION(".maps");

struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    struct shared *value;
} shared SECTION(".maps");

/* Records, and the state of the ring, of each CPU; made for one record where none are wanted. */
struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    struct record *value;
} records SECTION(".maps");

struct {
    MAP_NUMBER(type, MAP_TYPE_ARRAY);
    MAP_NUMBER(map_flags, MAP_FLAG_MMAPABLE);
    MAP_NUMBER(max_entries, 1);
    u32 *key;
    struct ring *value;
} rings SECTION(".maps");

INLINE struct shared *totals(void)
{
    u32 zero = 0;
    return map_lookup(&shared, &zero);
}

/* 2 to the power of `shift` if a number of less than 63 bits does not fit into so many bits, else 0: without a branch, which
 * a CPU cannot guess here. */
INLINE u64 step_of(u64 number, u32 shift)
{
    return ((((1ull << (1 << shift)) - 1) - number) >> 63) << shift;
}

/* Two buckets for each doubling, from 128 ns. */
INLINE u32 bucket_of(u64 ns)
{
    u64 rest = ns >> BUCKET_SHIFT;
    u64 doublings, step;

    if (!rest)
        return 0;
    /* The last bucket has no upper bound. */
    if (rest >> (BUCKETS / 2))
        return BUCKETS - 1;
    doublings = step_of(rest, 4);
    rest >>= doublings;
    step = step_of(rest, 3);
    rest >>= step;
    doublings += step;
    step = step_of(rest, 2);
    rest >>= step;
    doublings += step;
    step = step_of(rest, 1);
    rest >>= step;
    doublings += step + (rest >> 1);
    return 1 + 2 * doublings + ((ns >> (BUCKET_SHIFT - 1 + doublings)) & 1);
}

INLINE struct account *account_at(u32 index)
{
    return map_lookup(&accounts, &index);
}

/* The account of this user and program, with its state for `mark`; 0, which is that of all others, if there is no room. */
static __attribute__((noinline)) u32 open_account(u64 owner, u64 name, u64 rest)
{
    u64 hash = owner * 0x9e3779b97f4a7c15ull ^ name * 0xc2b2ae3d27d4eb4full ^ rest * 0x165667b19e3779f9ull;
    u32 start = (u32)(hash >> ACCOUNT_HASH_SHIFT);

    for (u32 step = 0; step < PROBES; step++) {
        u32 index = (start + step) & (ACCOUNTS - 1);
        if (index == 0)
            continue;
        struct account *account = map_lookup(&accounts, &index);
        if (!account)
            return 0;
        u32 state = account->state;
        if (state % ACCOUNT_STATES == ACCOUNT_FREE &&
            __sync_val_compare_and_swap(&account->state, state, state + ACCOUNT_TAKEN) == state) {
            account->owner = owner;
            account->name = name;
            account->rest = rest;
            /* The key before the state, for readers on other CPUs. */
            __sync_lock_test_and_set(&account->state, state + ACCOUNT_READY);
            return index;
        }
        if (state % ACCOUNT_STATES == ACCOUNT_READY && account->owner == owner && account->name == name &&
            account->rest == rest)
            return index;
        /* Another CPU may be opening this very account: then there are two of it, which the recorder adds up. */
    }
    struct shared *of_all = totals();
    if (of_all)
        __sync_fetch_and_add(&of_all->accounts_lost, 1);
    return 0;
}

/* The account with this key that a task belongs to at this moment. */
INLINE struct account *account_with(struct task *task, u64 owner, u64 name, u64 rest)
{
    u32 index = task->account;
    struct account *account = account_at(index);

    if (account && index && account->state == task->mark && account->owner == owner && account->name == name &&
        account->rest == rest)
        return account;
    index = open_account(owner, name, rest);
    account = account_at(index);
    if (account) {
        task->account = index;
        task->mark = account->state;
    }
    return account;
}

static __attribute__((noinline)) u32 open_histogram(struct account *account, u32 kind)
{
    const u32 attempts = 8;
    struct shared *of_all = totals();

    if (!account || !of_all || kind >= KINDS)
        return 0;
    for (u32 attempt = 0; attempt < attempts; attempt++) {
        u64 taken = *(volatile u64 *)&of_all->slots_taken;
        if (taken >= *(volatile u64 *)&of_all->slots_given)
            break;
        if (__sync_val_compare_and_swap(&of_all->slots_taken, taken, taken + 1) != taken)
            continue;
        u32 place = (u32)(taken % histograms_per_cpu);
        u64 *free = map_lookup(&slots, &place);
        if (!free)
            break;
        u32 slot = (u32)*free;
        u32 other = __sync_val_compare_and_swap(&account->slots[kind], 0, slot);
        /* Another CPU was faster: the slot that is not needed stays unused. */
        return other ? other : slot;
    }
    __sync_fetch_and_add(&of_all->durations_lost, 1);
    return 0;
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

/* The line and the place in it where a duration is counted. */
INLINE struct line *line_of(struct histogram *histogram, u64 ns, u32 *place)
{
    u64 bucket = bucket_of(ns);
    u64 line = bucket / LINE_BUCKETS;

    /* The compiler knows these bounds, the kernel's verifier would not. */
    HIDE(line);
    if (line >= BUCKETS / LINE_BUCKETS)
        line = 0;
    u64 rest = bucket - LINE_BUCKETS * line;
    HIDE(rest);
    *place = rest < LINE_BUCKETS ? rest : 0;
    return &histogram->lines[line];
}

/* Counts a duration. Nothing that counts in the same histogram of this CPU can interrupt it. */
INLINE void count(struct account *account, u32 kind, u64 ns, u32 cpu)
{
    struct histogram *histogram = histogram_of(account, kind, cpu);

    if (!histogram)
        return;
    u32 place = 0;
    struct line *line = line_of(histogram, ns, &place);
    struct bucket *bucket = &line->buckets[place];
    bucket->count++;
    BARRIER();
    bucket->total_ns += ns;
    BARRIER();
    line->done++;
}

/* The same where an interrupt may count in between. */
INLINE void count_interruptible(struct account *account, u32 kind, u64 ns, u32 cpu)
{
    struct histogram *histogram = histogram_of(account, kind, cpu);

    if (!histogram)
        return;
    u32 place = 0;
    struct line *line = line_of(histogram, ns, &place);
    struct bucket *bucket = &line->buckets[place];
    __sync_fetch_and_add(&bucket->count, 1);
    __sync_fetch_and_add(&bucket->total_ns, ns);
    __sync_fetch_and_add(&line->done, 1);
}

/* A place in the ring of this CPU, and its number; nothing if the ring is full. */
INLINE struct record *reserve(u32 cpu, u32 is_interruptible, u32 *sequence)
{
    struct ring *ring = map_lookup(&rings, &cpu);

    if (!ring)
        return 0;
    u64 place = *(volatile u64 *)&ring->head;
    if (place - *(volatile u64 *)&ring->tail >= RING - RING_SPARE) {
        __sync_fetch_and_add(&ring->lost, 1);
        return 0;
    }
    /* One instruction, so that whatever interrupts takes the next place. */
    if (is_interruptible)
        place = __sync_fetch_and_add(&ring->head, 1);
    else
        *(volatile u64 *)&ring->head = place + 1;
    u32 index = cpu * RING + (u32)(place & (RING - 1));
    *sequence = (u32)place + 1;
    return map_lookup(&records, &index);
}

/* Hands a record to the reader on another CPU, after all that was written to it. */
INLINE void submit(struct record *record, u32 sequence)
{
    BARRIER();
    if (stores_in_order)
        *(volatile u32 *)&record->sequence = sequence;
    else
        __sync_lock_test_and_set(&record->sequence, sequence);
}

/* Writes what is not a switch to the ring, if events are wanted. */
INLINE void tell(u32 kind, u32 reason, u32 task, u32 process, u32 account, u64 time_ns, u64 amount, u32 cpu)
{
    u32 sequence = 0;

    if (!wants_events)
        return;
    struct record *record = reserve(cpu, 1, &sequence);
    if (!record)
        return;
    record->kind = kind;
    record->reason = reason;
    record->time_ns = time_ns;
    record->amount = amount;
    record->task = task;
    record->process = process;
    record->account = account;
    record->next_task = 0;
    submit(record, sequence);
}

/* All programs are attached. */
INLINE u32 has_begun(void)
{
    struct shared *of_all = totals();
    return of_all && *(volatile u64 *)&of_all->begun;
}

/* The beginning of what ends was not seen: before the first switch of a task, and where the kernel told of none. */
INLINE void unseen(void)
{
    struct shared *of_all = totals();
    if (of_all)
        __sync_fetch_and_add(&of_all->unseen, 1);
}

#endif
