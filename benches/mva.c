/* Exact mean value analysis, one class: the recursion as the textbooks have it.
   mva ROUNDS: prints CPU seconds of one solution for 5 stations and 1000 users. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STATIONS 5
#define USERS 1000

static double solve(const double *demand, double think)
{
    double queue[STATIONS] = {0}, time[STATIONS], throughput = 0;
    for (int n = 1; n <= USERS; n++) {
        double cycle = think;
        for (int k = 0; k < STATIONS; k++) {
            time[k] = demand[k] * (1 + queue[k]);
            cycle += time[k];
        }
        throughput = n / cycle;
        for (int k = 0; k < STATIONS; k++)
            queue[k] = throughput * time[k];
    }
    return throughput;
}

int main(int argc, char **argv)
{
    const double demand[STATIONS] = {0.005, 0.004, 0.0033, 0.002, 0.001};
    long rounds = argc > 1 ? atol(argv[1]) : 1000;
    double sum = 0;
    clock_t began = clock();
    for (long i = 0; i < rounds; i++)
        sum += solve(demand, 0.5 + 1e-9 * i); /* another problem each time, so that none is left out */
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC / rounds;
    printf("%.9e %.6f\n", seconds, sum / rounds);
    return 0;
}
