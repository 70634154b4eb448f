/* Loads of users of a shared machine: processes that come and go.
 *
 *   loads duty           a CPU for 3 of every 10 ms
 *   loads forks          1,400 children a second, each waited for, 50 us each
 *   loads pipe N         two processes that pass a byte to and fro N times
 *   loads orphans        150 a second, 2 ms each; the parents of two in three end before them, and that of the third
 *                        does not wait for it
 *   loads reap PROGRAM... becomes who adopts the orphans of a program, and waits for them at once, as init should
 *   loads faults N       one that has 1 MB, gives it back and takes it again N times; its parent ends before it
 *   loads server U FILE  60 children a second of a server of root, 2 ms each, which join the group with the tasks
 *                        FILE and become user U
 *   loads threads N S    N threads of one process that compute for S seconds, and two in turn for a quarter of it
 *                        each; prints the CPU time and the time of waiting for a CPU of all but the first one [s]
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* Work whose length is counted in rounds: to ask for the CPU time would make the kernel update it. */
static volatile unsigned long sink;
static double round_s;

static void calibrate(void) {
    double begin = now(CLOCK_PROCESS_CPUTIME_ID);
    for (unsigned long i = 0; i < 20000000; i++) sink += i;
    round_s = (now(CLOCK_PROCESS_CPUTIME_ID) - begin) / 20000000;
}

static void work(double seconds) {
    unsigned long rounds = seconds / round_s;
    for (unsigned long i = 0; i < rounds; i++) sink += i;
}

static void sleep_until(double moment) {
    struct timespec time = {(time_t)moment, (long)(1e9 * (moment - (time_t)moment))};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* Children so far. */
static long children;

static void child(const char *mode, char **arguments) {
    if (!strcmp(mode, "orphans")) {
        pid_t orphan = fork();
        if (orphan == 0) {
            sleep_until(now(CLOCK_MONOTONIC) + 0.001);
            work(0.002);
        } else if (children % 3 == 0) {
            siginfo_t told;
            waitid(P_PID, orphan, &told, WEXITED | WNOWAIT);
        }
    } else if (!strcmp(mode, "server")) {
        int tasks = open(arguments[1], O_WRONLY);
        int user = atoi(arguments[0]);
        if (tasks < 0 || write(tasks, "0", 1) < 0 || setgid(user) || setuid(user)) _exit(1);
        work(0.002);
    } else {
        work(0.00005);
    }
    _exit(0);
}

static void churn(long count) {
    enum { LENGTH = 1 << 20, PAGE = 4096 };
    char *memory = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) _exit(1);
    for (long i = 0; i < count; i++) {
        for (long at = 0; at < LENGTH; at += PAGE) memory[at] = 1;
        madvise(memory, LENGTH, MADV_DONTNEED);
    }
    _exit(0);
}

static void pass(int from, int to, long count) {
    char byte = 0;
    for (long i = 0; i < count; i++)
        if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1) _exit(1);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double threads_cpu_s, threads_wait_s;

/* Computes for the time that the argument points to, and adds what the kernel measured of this thread. */
static void *computing(void *seconds) {
    double end = now(CLOCK_MONOTONIC) + *(double *)seconds;
    while (now(CLOCK_MONOTONIC) < end)
        for (int i = 0; i < 100000; i++) sink += i;
    unsigned long long run, wait;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (!file || fscanf(file, "%llu %llu", &run, &wait) != 2) exit(1);
    fclose(file);
    pthread_mutex_lock(&lock);
    threads_cpu_s += 1e-9 * run;
    threads_wait_s += 1e-9 * wait;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int threads(int number, double seconds) {
    pthread_t all[64], one;
    double quarter = seconds / 4;
    if (number > 64) return 1;
    for (int i = 0; i < number; i++)
        if (pthread_create(&all[i], NULL, computing, &seconds)) return 1;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&one, NULL, computing, &quarter) || pthread_join(one, NULL)) return 1;
    for (int i = 0; i < number; i++) pthread_join(all[i], NULL);
    printf("%.6f %.6f\n", threads_cpu_s, threads_wait_s);
    fflush(stdout);
    /* Until the last reading has seen it. */
    pause();
    return 0;
}

int main(int count, char **arguments) {
    const char *mode = arguments[1];
    if (count > 2 && !strcmp(mode, "pipe")) {
        int there[2], back[2];
        if (pipe(there) || pipe(back)) return 1;
        long times = atol(arguments[2]);
        if (fork() == 0) {
            pass(there[0], back[1], times);
            _exit(0);
        }
        if (write(there[1], "x", 1) != 1) return 1;
        pass(back[0], there[1], times - 1);
        wait(NULL);
        return 0;
    }
    if (count > 2 && !strcmp(mode, "reap")) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        if (fork() == 0) {
            execvp(arguments[2], arguments + 2);
            _exit(1);
        }
        while (wait(NULL) > 0) continue;
        return 0;
    }
    if (count > 3 && !strcmp(mode, "threads")) return threads(atoi(arguments[2]), atof(arguments[3]));
    if (count > 2 && !strcmp(mode, "faults")) {
        if (fork() == 0) churn(atol(arguments[2]));
        return 0;
    }
    calibrate();
    double period = !strcmp(mode, "forks") ? 1.0 / 1400 : !strcmp(mode, "orphans") ? 1.0 / 150 : 1.0 / 60;
    int status = 0;
    for (double next = now(CLOCK_MONOTONIC);; next += period) {
        if (!strcmp(mode, "duty")) {
            work(0.003);
            usleep(7000);
            continue;
        }
        children++;
        if (fork() == 0) child(mode, arguments + 2);
        if (wait(&status) < 0 || status != 0) return 1;
        sleep_until(next + period);
    }
}
