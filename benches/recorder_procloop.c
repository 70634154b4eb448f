/* The reference for the recorder: what everybody does who wants figures of all processes.
 *
 *   recorder_procloop SAMPLES
 *
 * Opens, reads, parses and closes /proc/PID/stat of every process, SAMPLES times, 20 ms apart.
 * Prints the CPU milliseconds of one sample (mean; user and system), without the sleeping. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static unsigned long long sum_ticks;
static long seen;

static void one_process(const char *pid)
{
	char path[320], text[1024];
	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	int file = open(path, O_RDONLY);
	if (file < 0)
		return;
	ssize_t length = read(file, text, sizeof text - 1);
	close(file);
	if (length <= 0)
		return;
	text[length] = 0;
	char *rest = strrchr(text, ')');
	unsigned long minor, major, user, system;
	if (rest && sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u %lu %lu", &minor, &major, &user, &system) == 4) {
		sum_ticks += user + system;
		seen++;
	}
}

int main(int argc, char **argv)
{
	long samples = argc == 2 ? atol(argv[1]) : 0;
	if (samples < 1) {
		fprintf(stderr, "usage: %s SAMPLES\n", argv[0]);
		return 2;
	}
	struct rusage before, after;
	getrusage(RUSAGE_SELF, &before);
	for (long sample = 0; sample < samples; sample++) {
		DIR *proc = opendir("/proc");
		if (!proc) {
			perror("/proc");
			return 1;
		}
		for (struct dirent *entry; (entry = readdir(proc));)
			if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
				one_process(entry->d_name);
		closedir(proc);
		usleep(20000);
	}
	getrusage(RUSAGE_SELF, &after);
	double ms = 1e3 * (after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec)
		+ 1e-3 * (after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec);
	fprintf(stderr, "%ld processes, %llu ticks\n", seen / samples, sum_ticks);
	printf("%.4f\n", ms / samples);
	return 0;
}
