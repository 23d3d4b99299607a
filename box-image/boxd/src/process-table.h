/* A look at all processes: who is whose parent. Fixed size; what does not fit is met on the next look. */
#ifndef BOXD_PROCESS_TABLE_H
#define BOXD_PROCESS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MAX_PROCESSES = 16384 };

struct process {
    pid_t pid;
    pid_t parent;
    char state;
    /* Below the process that was asked about. */
    bool is_below;
    /* Was told to stop in this pass. */
    bool is_frozen;
};

struct process_table {
    size_t count;
    struct process entries[MAX_PROCESSES];
};

/* Whose descendants are meant: all below `top`, except the processes in `spared` and what is below those. */
struct descent {
    pid_t top;
    const pid_t *spared;
    size_t spared_count;
};

/* Reads /proc and marks the descendants. What was frozen stays marked so. @returns how many live, zombies not counted */
size_t process_table_read(struct process_table *table, const struct descent *descent);

#endif
