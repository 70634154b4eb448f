/* What the programs use of the kernel: fields of its structures, by name, and its helpers, by number.
 *
 * The loader replaces the offset of each field by that of the running kernel (CO-RE), so that the structures have
 * here only the fields that are used. Constants are those of the kernel's headers; they do not change.
 */
#ifndef THINKTIME_KERNEL_H
#define THINKTIME_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define HIDE(variable) asm volatile("" : "+r"(variable))
#define BARRIER() asm volatile("" ::: "memory")

/* Fields of a map, in the form that loaders read from the debugging information. */
#define MAP_NUMBER(name, value) int(*name)[value]
#define MAP_TYPE_ARRAY 2
#define MAP_TYPE_HASH 1
#define MAP_TYPE_LRU_HASH 9
#define MAP_TYPE_TASK_STORAGE 29
#define MAP_FLAG_NO_PREALLOC 1
#define MAP_FLAG_MMAPABLE 1024

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
    u32 val;
} kuid_t;

struct cred {
    kuid_t euid;
};

struct upid {
    int nr;
};

struct pid {
    struct upid numbers[1];
};

struct taskstats {
    u64 cpu_delay_total;
};

struct signal_struct {
    struct pid *pids[4];
    /* Of the threads that have ended. */
    struct taskstats *stats;
};

struct sched_entity {
    u64 sum_exec_runtime;
};

struct sched_info {
    unsigned long pcount;
    unsigned long long run_delay;
    unsigned long long last_arrival;
    unsigned long long last_queued;
};

struct task_struct {
    u32 __state;
    u32 flags;
    u32 in_iowait : 1;
    int exit_state;
    int pid;
    int tgid;
    struct task_struct *group_leader;
    u64 start_time;
    struct cred *cred;
    char comm[16];
    struct signal_struct *signal;
    struct sched_entity se;
    struct sched_info sched_info;
};

/* Before Linux 5.14. */
struct task_struct___old {
    long state;
};

struct seq_file;

struct bpf_iter_meta {
    struct seq_file *seq;
};

/* What an iterator over tasks is given. */
struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
};

/* Number of the system call: of x86. */
struct pt_regs {
    unsigned long orig_ax;
};

/* The same of ARM. */
struct pt_regs___arm {
    s32 syscallno;
};

struct request {
    u32 cmd_flags;
    u32 __data_len;
};

#pragma clang attribute pop

/* Where a walk along the threads is; the kernel's own. */
struct bpf_iter_task {
    u64 opaque[3];
};

#define WALK_ALL_THREADS 1

/* State of a task: the numbers in <linux/sched.h>. */
#define STATE_RUNNING 0
#define STATE_UNINTERRUPTIBLE 0x2
#define STATE_STOPPED 0x4
#define STATE_TRACED 0x8
#define STATE_PARKED 0x40
#define STATE_DEAD 0x80
#define STATE_NO_LOAD 0x400
#define STATE_LOCK_WAIT 0x1000
#define STATE_FROZEN 0x8000

/* Flags of a task. */
#define FLAG_IO_WORKER 0x10
#define FLAG_USER_WORKER 0x4000
#define FLAG_KERNEL_THREAD 0x200000

/* Index of the session among the numbers of a process. */
#define PID_OF_SESSION 3

static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const map_delete)(void *map, const void *key) = (void *)3;
static u64 (*const now_ns)(void) = (void *)5;
static u64 (*const this_number)(void) = (void *)14;
static u64 (*const this_user)(void) = (void *)15;
static long (*const this_name)(void *to, u32 bytes) = (void *)16;
static u32 (*const this_cpu)(void) = (void *)8;
static struct task_struct *(*const this_task)(void) = (void *)158;
static void *(*const task_storage)(void *map, struct task_struct *task, void *value, u64 flags) = (void *)156;
static long (*const write_sequence)(struct seq_file *to, const void *data, u32 bytes) = (void *)127;
static long (*const read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static struct pt_regs *(*const registers_of)(struct task_struct *task) = (void *)175;

#define STORAGE_CREATE 1

/* Functions of the kernel that have no number of their own: the loader replaces these by those of the running kernel, in the
 * order of its list of their names (src/object.rs). */
#define FUNCTION(index) ((void *)(0x10000 + (index)))

static void (*const hold_lists)(void) = FUNCTION(0);
static void (*const release_lists)(void) = FUNCTION(1);
static int (*const begin_walk)(struct bpf_iter_task *place, struct task_struct *of, u32 what) = FUNCTION(2);
static struct task_struct *(*const next_thread)(struct bpf_iter_task *place) = FUNCTION(3);
static void (*const end_walk)(struct bpf_iter_task *place) = FUNCTION(4);

/* A field of a structure of the kernel. */
#ifdef RAW
#define READ(place)                                       \
    ({                                                    \
        __typeof__(place) value_of_place = 0;             \
        read_kernel(&value_of_place, sizeof(value_of_place), &(place)); \
        value_of_place;                                   \
    })
#else
#define READ(place) (place)
#endif

/* A bit field cannot be loaded by its offset alone: clang asks for its place, size and shifts. */
#define FIELD_BYTE_OFFSET 0
#define FIELD_BYTE_SIZE 1
#define FIELD_EXISTS 2
#define FIELD_LEFT_SHIFT 4
#define FIELD_RIGHT_SHIFT 5
#define HAS_FIELD(field) __builtin_preserve_field_info(field, FIELD_EXISTS)

INLINE u64 is_waiting_for_io(struct task_struct *task)
{
    void *place = (void *)task + __builtin_preserve_field_info(task->in_iowait, FIELD_BYTE_OFFSET);
    u64 value = 0;

    switch (__builtin_preserve_field_info(task->in_iowait, FIELD_BYTE_SIZE)) {
    case 1:
        value = READ(*(u8 *)place);
        break;
    case 2:
        value = READ(*(u16 *)place);
        break;
    case 4:
        value = READ(*(u32 *)place);
        break;
    case 8:
        value = READ(*(u64 *)place);
        break;
    }
    value <<= __builtin_preserve_field_info(task->in_iowait, FIELD_LEFT_SHIFT);
    return value >> __builtin_preserve_field_info(task->in_iowait, FIELD_RIGHT_SHIFT);
}

#endif
