/* A load whose waits are known: each kind of wait a known number of times, in a process of its own.
 *
 *   traced FOLDER
 *   traced names NUMBER
 *
 * The second starts so many processes, one after the other and each with a name of its own: many-0, many-1...
 * Of the first, every process prints a line: what it did, its number, how often, and what the kernel counted of it:
 * voluntary and involuntary switches, time on a CPU and time waiting for one [ns].
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMERS = 100, CHILDREN = 20, POLLS = 50, PASSES = 2000, WRITES = 20, HANDOVERS = 200 };

static void report(const char *what, int count) {
    struct rusage usage;
    unsigned long long run = 0, wait = 0;
    char path[64];

    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)gettid());
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%llu %llu", &run, &wait) != 2) _exit(1);
    fclose(file);
    getrusage(RUSAGE_THREAD, &usage);
    char line[200];
    int length = snprintf(line, sizeof line, "%s %d %d %ld %ld %llu %llu\n", what, getpid(), count, usage.ru_nvcsw,
                          usage.ru_nivcsw, run, wait);
    if (write(1, line, length) != length) _exit(1);
}

static void sleep_ns(long ns) {
    struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

static void timers(const char *folder) {
    (void)folder;
    for (int i = 0; i < TIMERS; i++) sleep_ns(1000000);
    report("timer", TIMERS);
}

static void children(const char *folder) {
    (void)folder;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            sleep_ns(2000000);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    report("child", CHILDREN);
}

static void polls(const char *folder) {
    (void)folder;
    for (int i = 0; i < POLLS; i++) poll(NULL, 0, 2);
    report("poll", POLLS);
}

static void burn(const char *folder) {
    (void)folder;
    struct timespec time;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    while (time.tv_sec == 0 && time.tv_nsec < 300000000);
    report("burn", 1);
}

static void writes(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/written", folder);
    int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (file < 0) _exit(1);
    for (int i = 0; i < WRITES; i++)
        if (write(file, path, sizeof path) != sizeof path || fsync(file)) _exit(1);
    report("io", WRITES);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *take_turns(void *of) {
    int mine = of != NULL;
    for (int i = 0; i < HANDOVERS; i++) {
        pthread_mutex_lock(&mutex);
        while (turn != mine) pthread_cond_wait(&changed, &mutex);
        turn = !mine;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    report("futex", HANDOVERS);
    return NULL;
}

static void handovers(const char *folder) {
    pthread_t other;
    if (pthread_create(&other, NULL, take_turns, (void *)folder)) _exit(1);
    take_turns(NULL);
    pthread_join(other, NULL);
}

static int there[2], back[2];

static void ping(const char *folder) {
    (void)folder;
    char byte = 0;
    for (int i = 0; i < PASSES; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) _exit(1);
    report("input", PASSES);
}

static void pong(const char *folder) {
    (void)folder;
    char byte = 0;
    for (int i = 0; i < PASSES; i++)
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) _exit(1);
    report("input", PASSES);
}

static void (*const works[])(const char *) = {timers, children, polls, burn, burn, burn, writes, handovers, ping, pong};

static int names(int number) {
    for (int i = 0; i < number; i++) {
        pid_t child = fork();
        if (child == 0) {
            char name[16];
            snprintf(name, sizeof name, "many-%d", i);
            prctl(PR_SET_NAME, name);
            sleep_ns(1000000);
            _exit(0);
        }
        /* Slower than what nobody uses any more is taken back. */
        if (child < 0 || waitpid(child, NULL, 0) != child) return 1;
        sleep_ns(1000000);
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "names") == 0) return names(atoi(arguments[2]));
    if (count < 2 || pipe(there) || pipe(back)) return 1;
    int number = sizeof works / sizeof *works, status, failed = 0;
    for (int i = 0; i < number; i++)
        if (fork() == 0) {
            works[i](arguments[1]);
            _exit(0);
        }
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
