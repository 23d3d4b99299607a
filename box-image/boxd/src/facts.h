/* What the kernel tells about the box: memory and process limits, space in the workspace, processes of this user. */
#ifndef BOXD_FACTS_H
#define BOXD_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire.h"

/* Counters of the box since it started; -1 where the kernel does not tell. */
struct counters {
    int64_t memory_kills;
    int64_t processes_refused;
};

struct counters read_counters(void);

/* Payload of BOX_USAGE. `root` is the held descriptor of the workspace. */
void put_usage(struct writer *writer, int root);

/* Payload of BOX_PROCESSES: those of this user, without the ones in `own`. */
void put_processes(struct writer *writer, const pid_t *own, size_t own_count);

#endif
