/* The workloads of simulation.h as fast as we know how to write them by hand: ends of think time in a
 * tournament tree of whole numbers (nanoseconds, then the user), completions of the servers in variables.
 * It is no general calendar: each workload has its own loop. */
#include "simulation.h"

#define NEVER UINT64_MAX

static uint64_t *tree;
static uint32_t width;
static int bits;

static inline uint64_t nanoseconds(double seconds) { return (uint64_t)(seconds * 1e9); }

static inline void set(uint32_t user, uint64_t key)
{
	uint32_t at = width + user;
	tree[at] = key;
	while (at > 1) {
		uint64_t other = tree[at ^ 1];
		key = key < other ? key : other;
		at >>= 1;
		tree[at] = key;
	}
}

static inline void think(uint32_t user, uint64_t now)
{
	set(user, (now + nanoseconds(THINK * exponential())) << bits | user);
}

static void everybody_thinks(uint32_t users)
{
	for (width = 1, bits = 0; width < users; bits++)
		width *= 2;
	tree = malloc(2 * width * sizeof *tree);
	for (uint32_t i = 0; i < 2 * width; i++)
		tree[i] = NEVER;
	for (uint32_t user = 0; user < users; user++)
		think(user, 0);
}

static struct counts repairman(uint32_t users, double service, double length)
{
	struct counts counts = {.simulated = length};
	struct queue queue;
	uint64_t *asked = malloc(users * sizeof *asked), end = nanoseconds(length), completion = NEVER;
	uint64_t responses = 0;
	make_queue(&queue, users);
	everybody_thinks(users);
	for (;;) {
		uint64_t arrival = tree[1] >> bits;
		if (arrival <= completion) {
			if (arrival >= end)
				break;
			uint32_t user = tree[1] & (width - 1);
			counts.events++;
			asked[user] = arrival;
			set(user, NEVER);
			if (queue.count == 0)
				completion = arrival + nanoseconds(service * exponential());
			put(&queue, user);
		} else {
			if (completion >= end)
				break;
			uint64_t now = completion;
			uint32_t user = take(&queue);
			counts.events++;
			counts.interactions++;
			responses += now - asked[user];
			think(user, now);
			completion = queue.count > 0 ? now + nanoseconds(service * exponential()) : NEVER;
		}
	}
	counts.responses = responses * 1e-9;
	free(asked);
	free(queue.users);
	free(tree);
	return counts;
}

struct turn { uint64_t remaining; uint32_t user; };

static struct counts timesharing(uint32_t users, double length)
{
	struct counts counts = {.simulated = length};
	struct queue disk;
	const uint64_t end = nanoseconds(length), slice = nanoseconds(SLICE), swap = nanoseconds(SWAP);
	uint64_t *asked = malloc(users * sizeof *asked), responses = 0, loaded = NEVER, sliced = NEVER;
	make_queue(&disk, users);
	everybody_thinks(users);
	uint32_t mask = disk.mask, first = 0, ready = 0;
	struct turn *turns = malloc((mask + 1) * sizeof *turns);
	for (;;) {
		uint64_t arrival = tree[1] >> bits, other = arrival < loaded ? arrival : loaded;
		if (other >= end)
			other = end;
		/* Slices until something else happens. */
		while (sliced < other) {
			struct turn turn = turns[first & mask];
			counts.events++;
			first++;
			if (turn.remaining > slice) {
				turn.remaining -= slice;
				turns[(first + ready - 1) & mask] = turn;
			} else {
				ready--;
				counts.interactions++;
				responses += sliced - asked[turn.user];
				think(turn.user, sliced);
				arrival = tree[1] >> bits;
				other = arrival < other ? arrival : other;
			}
			uint64_t next = turns[first & mask].remaining;
			sliced = ready == 0 ? NEVER : sliced + (next < slice ? next : slice);
		}
		if (other == end)
			break;
		counts.events++;
		if (other == arrival) {
			uint32_t user = tree[1] & (width - 1);
			asked[user] = arrival;
			set(user, NEVER);
			put(&disk, user);
			if (disk.count == 1)
				loaded = arrival + swap;
		} else {
			uint32_t user = take(&disk);
			uint64_t remaining = nanoseconds(hyperexponential());
			turns[(first + ready++) & mask] = (struct turn){remaining, user};
			if (ready == 1)
				sliced = loaded + (remaining < slice ? remaining : slice);
			loaded = disk.count > 0 ? loaded + swap : NEVER;
		}
	}
	counts.responses = responses * 1e-9;
	free(turns);
	free(asked);
	free(disk.users);
	free(tree);
	return counts;
}
