/* Makes N processes that sleep until this program's standard input ends.
 *
 *   recorder_sleepers 1000
 *
 * Prints "ready" when all of them are asleep. They die with their parent, however it ends. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc == 2 ? atol(argv[1]) : 0;
	if (count < 1) {
		fprintf(stderr, "usage: %s NUMBER\n", argv[0]);
		return 2;
	}
	signal(SIGCHLD, SIG_IGN);
	for (long made = 0; made < count; made++) {
		pid_t child = fork();
		if (child < 0) {
			perror("fork");
			kill(0, SIGTERM);
			return 1;
		}
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(0);
			close(1);
			if (getppid() == 1)
				_exit(0);
			for (;;)
				pause();
		}
	}
	usleep(300000);
	puts("ready");
	fflush(stdout);
	char byte;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
