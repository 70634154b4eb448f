/* The workloads of simulation.h with a binary heap as the calendar: every event is in it, and the one that is
 * served is replaced by its successor where it has one.
 *
 * Events are (time in seconds, who), as in a textbook. With -DPACKED they are whole numbers, nanoseconds and
 * then who, which a compiler compares without a branch. Beyond the end of the heap stands what is never due,
 * so that the way down asks for no bounds. */
#include "simulation.h"

#ifdef PACKED
typedef uint64_t instant;
typedef uint64_t event;
#define NOTHING UINT64_MAX
static int bits;
static inline event due(instant time, uint32_t who) { return time << bits | who; }
static inline instant when(event e) { return e >> bits; }
static inline uint32_t who(event e) { return e & ((1u << bits) - 1); }
static inline int before(event a, event b) { return a < b; }
static inline instant lasting(double seconds) { return (instant)(seconds * 1e9); }
static inline double seconds(instant time) { return time * 1e-9; }
#else
typedef double instant;
typedef struct { double time; uint32_t who; } event;
#define NOTHING ((event){INFINITY, 0})
static inline event due(instant time, uint32_t who) { return (event){time, who}; }
static inline instant when(event e) { return e.time; }
static inline uint32_t who(event e) { return e.who; }
static inline int before(event a, event b) { return a.time < b.time; }
static inline instant lasting(double seconds) { return seconds; }
static inline double seconds(instant time) { return time; }
#endif

static event *heap;
static uint32_t pending;

static inline void replace_first(event e)
{
	uint32_t at = 0;
	for (;;) {
		uint32_t child = 2 * at + 1;
		child += before(heap[child + 1], heap[child]);
		if (!before(heap[child], e))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = e;
}

static inline void push(event e)
{
	uint32_t at = pending++;
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;
		if (!before(e, heap[parent]))
			break;
		heap[at] = heap[parent];
		at = parent;
	}
	heap[at] = e;
}

static inline void drop_first(void)
{
	event last = heap[--pending];
	heap[pending] = NOTHING;
	if (pending > 0)
		replace_first(last);
}

/* Users are numbered from 0; beyond them come the servers. */
static void everybody_thinks(uint32_t users)
{
#ifdef PACKED
	for (bits = 1; 1u << bits < users + 2; bits++)
		;
#endif
	uint32_t room = 2 * (users + 3);
	heap = malloc(room * sizeof *heap);
	for (uint32_t i = 0; i < room; i++)
		heap[i] = NOTHING;
	pending = 0;
	for (uint32_t user = 0; user < users; user++)
		push(due(lasting(THINK * exponential()), user));
}

static struct counts repairman(uint32_t users, double service, double length)
{
	struct counts counts = {.simulated = length};
	struct queue queue;
	instant *asked = malloc(users * sizeof *asked), end = lasting(length), responses = 0;
	make_queue(&queue, users);
	everybody_thinks(users);
	while (when(heap[0]) < end) {
		instant now = when(heap[0]);
		uint32_t user = who(heap[0]);
		counts.events++;
		if (user < users) {
			asked[user] = now;
			put(&queue, user);
			if (queue.count == 1)
				replace_first(due(now + lasting(service * exponential()), users));
			else
				drop_first();
			continue;
		}
		user = take(&queue);
		counts.interactions++;
		responses += now - asked[user];
		replace_first(due(now + lasting(THINK * exponential()), user));
		if (queue.count > 0)
			push(due(now + lasting(service * exponential()), users));
	}
	counts.responses = seconds(responses);
	free(asked);
	free(queue.users);
	free(heap);
	return counts;
}

struct turn { instant remaining; uint32_t user; };

static inline instant least(instant a, instant b) { return a < b ? a : b; }

static struct counts timesharing(uint32_t users, double length)
{
	struct counts counts = {.simulated = length};
	struct queue disk;
	const instant end = lasting(length), slice = lasting(SLICE), swap = lasting(SWAP);
	instant *asked = malloc(users * sizeof *asked), responses = 0;
	make_queue(&disk, users);
	uint32_t mask = disk.mask, first = 0, ready = 0;
	struct turn *turns = malloc((mask + 1) * sizeof *turns);
	everybody_thinks(users);
	while (when(heap[0]) < end) {
		instant now = when(heap[0]);
		uint32_t user = who(heap[0]);
		counts.events++;
		if (user > users) {
			struct turn turn = turns[first++ & mask];
			if (turn.remaining > slice) {
				turn.remaining -= slice;
				turns[(first + ready - 1) & mask] = turn;
				replace_first(due(now + least(turns[first & mask].remaining, slice), users + 1));
				continue;
			}
			counts.interactions++;
			responses += now - asked[turn.user];
			replace_first(due(now + lasting(THINK * exponential()), turn.user));
			if (--ready > 0)
				push(due(now + least(turns[first & mask].remaining, slice), users + 1));
		} else if (user < users) {
			asked[user] = now;
			put(&disk, user);
			if (disk.count == 1)
				replace_first(due(now + swap, users));
			else
				drop_first();
		} else {
			instant service = lasting(hyperexponential());
			turns[(first + ready++) & mask] = (struct turn){service, take(&disk)};
			if (disk.count > 0)
				replace_first(due(now + swap, users));
			else
				drop_first();
			if (ready == 1)
				push(due(now + least(service, slice), users + 1));
		}
	}
	counts.responses = seconds(responses);
	free(asked);
	free(turns);
	free(disk.users);
	free(heap);
	return counts;
}
