/* Switches of tasks: on each CPU two processes that pass a byte to and fro through pipes.
 *
 *   tracing_switches SECONDS
 *
 * Prints the switches of all CPUs in a second, and the CPU time that each took [ns], which others who use the machine
 * hardly change. Each pass of the byte is one switch, since both processes of a pair are bound to one CPU. They die with
 * their parent, however it ends. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void pass(int from, int to, volatile long *count)
{
	char byte = 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1)
			_exit(1);
		++*count;
	}
}

int main(int argc, char **argv)
{
	double seconds = argc == 2 ? atof(argv[1]) : 0;
	cpu_set_t all;
	int cpus = 0;
	enum { CPUS_MAX = 256, APART = 16 };
	pid_t children[2 * CPUS_MAX];
	if (!(seconds > 0) || sched_getaffinity(0, sizeof all, &all)) {
		fprintf(stderr, "usage: %s SECONDS\n", argv[0]);
		return 2;
	}
	/* A cache line for each counter. */
	long *counts = mmap(NULL, sizeof(long) * APART * 2 * CPUS_MAX, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 1;
	for (int cpu = 0; cpu < CPU_SETSIZE && cpus < CPUS_MAX; cpu++) {
		int there[2], back[2];
		cpu_set_t one;
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (pipe(there) || pipe(back))
			return 1;
		for (int side = 0; side < 2; side++) {
			pid_t child = fork();
			if (child == 0) {
				if (sched_setaffinity(0, sizeof one, &one))
					_exit(1);
				pass(side ? there[0] : back[0], side ? back[1] : there[1], counts + APART * (2 * cpus + side));
			}
			children[2 * cpus + side] = child;
		}
		if (write(there[1], "x", 1) != 1)
			return 1;
		cpus++;
	}
	/* The first passes find cold caches, and count for nothing. */
	usleep(200000);
	long before = 0, after = 0;
	for (int i = 0; i < 2 * cpus; i++)
		before += ((volatile long *)counts)[APART * i];
	double begin = now();
	struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (time_t)seconds))};
	nanosleep(&time, NULL);
	for (int i = 0; i < 2 * cpus; i++)
		after += ((volatile long *)counts)[APART * i];
	double took = now() - begin;
	double cpu_s = 0, passes = 0;
	for (int i = 0; i < 2 * cpus; i++)
		kill(children[i], SIGKILL);
	for (int i = 0; i < 2 * cpus; i++) {
		struct rusage usage;
		if (wait4(children[i], NULL, 0, &usage) != children[i])
			return 1;
		cpu_s += usage.ru_utime.tv_sec + usage.ru_stime.tv_sec;
		cpu_s += 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
		passes += ((volatile long *)counts)[APART * i];
	}
	printf("%.0f %.1f\n", (after - before) / took, 1e9 * cpu_s / passes);
	return 0;
}
