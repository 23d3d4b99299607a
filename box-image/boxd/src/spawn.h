/* Starting a command: what the request says, and the process that becomes it. */
#ifndef BOXD_SPAWN_H
#define BOXD_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "files-open.h"
#include "wire.h"

/* What the server must know of the request before it forks. */
struct spawn_modes {
    uint32_t window;
    bool has_input, is_tty;
    uint16_t rows, columns;
};

/* @returns whether a payload of the right shape also makes sense */
bool spawn_is_valid(struct bytes payload, struct spawn_modes *modes);

/* Descriptors of the command; on a terminal all three are one. */
struct stdio {
    int in, out, error;
    bool is_tty;
};

struct spawn_plan {
    char **argv, **envp;
    struct bytes cwd;
    uint64_t timeout_ms;
    struct bytes limits;
};

/* Copies what the command needs; the memory ends with the process. @returns 0 or an errno */
int spawn_plan_read(struct spawn_plan *plan, struct bytes payload);

/* Turns this process into the command, in the directory held by `directory`. Ends with 126 or 127 where it cannot. */
_Noreturn void become_command(const struct spawn_plan *plan, const struct stdio *stdio, int directory);

#endif
