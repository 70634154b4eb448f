/* The reference for appending to a log: the same bytes with nothing else done to them.
 *
 *   log_append FILE BLOCKS BYTES
 *
 * Appends BLOCKS blocks of BYTES bytes to FILE, one write(2) each, and prints the CPU seconds. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s FILE BLOCKS BYTES\n", argv[0]);
		return 2;
	}
	long blocks = atol(argv[2]), bytes = atol(argv[3]);
	int file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_EXCL, 0644);
	char *block = calloc(1, bytes);
	if (file < 0 || !block || bytes < (long)sizeof blocks) {
		perror(argv[1]);
		return 1;
	}
	double began = cpu_s();
	for (long k = 0; k < blocks; k++) {
		*(long *)block = k;
		if (write(file, block, bytes) != bytes) {
			perror(argv[1]);
			return 1;
		}
	}
	printf("%.9f\n", cpu_s() - began);
	return 0;
}
