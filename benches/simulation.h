/* What the two reference programs of simulation.py share: the workloads, random numbers, queues, output.
 *
 * repairman: users think (exponential) and ask one server (exponential, first come first served).
 * timesharing: users think (exponential), their program is swapped in by a disk (constant, first come first
 *     served), then they get the processor round robin; service is hyperexponential.
 * All users think at time 0; time is in seconds unless a program says otherwise.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THINK 20.0
#define SHORT 0.1
#define LONG 5.0
#define SLICE 0.1
#define SWAP 0.1

/* xoshiro256++ (Blackman and Vigna 2021), seeded by splitmix64. */
static uint64_t state[4];

static inline uint64_t rotated(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

static inline uint64_t next64(void)
{
	uint64_t result = rotated(state[0] + state[3], 23) + state[0], t = state[1] << 17;
	state[2] ^= state[0];
	state[3] ^= state[1];
	state[1] ^= state[2];
	state[0] ^= state[3];
	state[2] ^= t;
	state[3] = rotated(state[3], 45);
	return result;
}

static void seed(uint64_t x)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (x += 0x9e3779b97f4a7c15);
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		state[i] = z ^ (z >> 31);
	}
}

static inline double uniform(void) { return (double)(next64() >> 11) * 0x1p-53; }

/* Exponential with mean 1 by the ziggurat of Marsaglia and Tsang (2000), 256 layers, one draw of 64 bits. */
#define LAYERS 256
#define RIGHTMOST 7.69711747013104972
#define AREA 0.0039496598225815571993

static double edge[LAYERS + 1], density[LAYERS + 1], scaled[LAYERS];
static uint64_t sure[LAYERS];

static void make_layers(void)
{
	edge[0] = AREA / exp(-RIGHTMOST);
	edge[1] = RIGHTMOST;
	for (int i = 2; i < LAYERS; i++)
		edge[i] = -log(AREA / edge[i - 1] + exp(-edge[i - 1]));
	edge[LAYERS] = 0;
	for (int i = 0; i <= LAYERS; i++)
		density[i] = exp(-edge[i]);
	for (int i = 0; i < LAYERS; i++) {
		scaled[i] = edge[i] * 0x1p-53;
		sure[i] = (uint64_t)(edge[i + 1] / edge[i] * 0x1p53);
	}
}

static __attribute__((noinline)) double unsure(unsigned layer, double x)
{
	for (;;) {
		if (layer == 0)
			return RIGHTMOST - log(1 - uniform());
		if (density[layer + 1] + (density[layer] - density[layer + 1]) * uniform() < exp(-x))
			return x;
		uint64_t bits = next64();
		layer = bits & (LAYERS - 1);
		x = (double)(bits >> 11) * scaled[layer];
		if ((bits >> 11) < sure[layer])
			return x;
	}
}

static inline double exponential(void)
{
	uint64_t bits = next64();
	unsigned layer = bits & (LAYERS - 1);
	double x = (double)(bits >> 11) * scaled[layer];
	return __builtin_expect((bits >> 11) < sure[layer], 1) ? x : unsure(layer, x);
}

static inline double hyperexponential(void)
{
	return exponential() * (next64() < (uint64_t)(0.9 * 0x1p64) ? SHORT : LONG);
}

/* A queue with room for all users. */
struct queue { uint32_t first, count, mask, *users; };

static void make_queue(struct queue *q, uint32_t users)
{
	uint32_t room = 1;
	while (room < users)
		room *= 2;
	*q = (struct queue){0, 0, room - 1, malloc(room * sizeof *q->users)};
}

static inline void put(struct queue *q, uint32_t user) { q->users[(q->first + q->count++) & q->mask] = user; }

static inline uint32_t take(struct queue *q)
{
	q->count--;
	return q->users[q->first++ & q->mask];
}

/* What a program counts. */
struct counts { uint64_t interactions, events; double responses, simulated; };

static struct counts repairman(uint32_t users, double service, double length);
static struct counts timesharing(uint32_t users, double length);

/* PROGRAM repairman USERS SERVICE LENGTH SEED, or PROGRAM timesharing USERS LENGTH REPLICATIONS SEED */
int main(int argc, char **argv)
{
	struct counts all = {0};
	if (argc != 6)
		return 2;
	make_layers();
	seed(strtoull(argv[5], NULL, 10));
	if (strcmp(argv[1], "repairman") == 0) {
		all = repairman(atoi(argv[2]), atof(argv[3]), atof(argv[4]));
	} else {
		int replications = atoi(argv[4]);
		for (int i = 0; i < replications; i++) {
			struct counts one = timesharing(atoi(argv[2]), atof(argv[3]));
			all.interactions += one.interactions;
			all.events += one.events;
			all.responses += one.responses;
			all.simulated += one.simulated;
		}
	}
	printf("{\"interactions\": %llu, \"events\": %llu, \"throughput\": %.9g, \"mean_response_s\": %.9g}\n",
		(unsigned long long)all.interactions, (unsigned long long)all.events,
		all.interactions / all.simulated, all.responses / all.interactions);
	return 0;
}
