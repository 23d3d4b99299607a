/*
 * Contents of the host on their way to a command or a worker. The window is what fits into the ring, headers included,
 * so a reader that does not read holds up nobody but itself.
 */
#ifndef BOXD_INFLOW_H
#define BOXD_INFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"

struct inflow {
    /* NULL = this request takes no contents. */
    uint8_t *ring;
    size_t begin, used;
    /* What the host may still send, and what it may be given back. */
    size_t window, returned;
    /* -1 once the reader is gone or has all; what comes later is dropped. */
    int fd;
    /* A worker gets the frames as they are, a command their payloads. */
    bool has_headers;
    bool is_tty;
    /* What is left of the payload that is being passed to a command. */
    size_t frame_left;
};

/* @returns whether there is memory for the ring */
bool inflow_open(struct inflow *inflow, int fd, bool has_headers);
void inflow_close(struct inflow *inflow);
/* @returns false when the host sends more than it may */
bool inflow_accept(struct inflow *inflow, const struct frame *frame);
/* Whether it waits for its reader. */
bool inflow_wants(const struct inflow *inflow);
/* Passes on what the reader takes now. */
void inflow_pump(struct inflow *inflow);
/* What the host may be told that it can send again; 0 while that is not worth a frame. */
size_t inflow_take_returned(struct inflow *inflow);

#endif
