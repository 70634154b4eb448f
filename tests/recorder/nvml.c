/* Answers as NVML is documented (docs.nvidia.com/deploy/nvml-api): two cards, the second without the time of its engines.
 *
 * NVML_SCENE says what goes wrong, NVML_PIDS which two processes use the cards. The first works half of the time, the
 * second a fifth on the multiprocessors and a tenth in the encoder. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };

typedef struct {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} process;

typedef struct {
    unsigned pid;
    unsigned long long time_us;
    unsigned sm, memory, encoder, decoder;
} sample;

static unsigned pids[2];

static int scene(const char *name) {
    const char *given = getenv("NVML_SCENE");
    return given != NULL && strcmp(given, name) == 0;
}

int nvmlInit_v2(void) {
    const char *given = getenv("NVML_PIDS");
    if (given != NULL)
        sscanf(given, "%u,%u", &pids[0], &pids[1]);
    return SUCCESS;
}

int nvmlShutdown(void) {
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = 2;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    if (scene("lost"))
        return GPU_IS_LOST;
    *device = (void *)(size_t)(index + 1);
    return SUCCESS;
}

/* Takes over `known` if there is room for it; says how much room is needed otherwise. */
static int give(unsigned *count, void *list, const void *known, unsigned number, size_t size) {
    if (list == NULL || *count < number) {
        *count = number;
        return number == 0 ? SUCCESS : INSUFFICIENT_SIZE;
    }
    memcpy(list, known, number * size);
    *count = number;
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process *list) {
    process first[] = {{pids[0], 1ull << 30, -1u, -1u}, {pids[1], 2ull << 30, -1u, -1u}};
    process second[] = {{pids[0], 512ull << 20, -1u, -1u}};
    if (scene("denied"))
        return NO_PERMISSION;
    return device == (void *)1 ? give(count, list, first, 2, sizeof *list)
                               : give(count, list, second, 1, sizeof *list);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, process *list) {
    /* The second draws too: its memory is the same. */
    process drawing[] = {{pids[1], 2ull << 30, -1u, -1u}};
    return give(count, list, drawing, device == (void *)1, sizeof *list);
}

int nvmlDeviceGetProcessUtilization(void *device, sample *list, unsigned *count, unsigned long long since_us) {
    struct timeval now;
    gettimeofday(&now, NULL);
    unsigned long long now_us = now.tv_sec * 1000000ull + now.tv_usec;
    sample used[] = {{pids[0], now_us - 1, 50, 90, 0, 0}, {pids[1], now_us - 1, 20, 0, 10, 0}};
    if (scene("hung"))
        sleep(1000);
    if (scene("slow"))
        usleep(300000);
    if (device != (void *)1)
        return NOT_SUPPORTED;
    if (scene("idle") || since_us >= now_us)
        return NOT_FOUND;
    if (scene("garbage")) {
        /* As drivers were seen to do: a share of more than all, and a time that is none. */
        used[0].sm = 0xffffffff;
        used[1].time_us = 0;
    }
    return give(count, list, used, 2, sizeof *list);
}
