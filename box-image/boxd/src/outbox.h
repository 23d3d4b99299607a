/* What waits to be written to the host: a few frames, never more. Who wants to say something asks for room first. */
#ifndef BOXD_OUTBOX_H
#define BOXD_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frames.h"

enum { FRAME_BYTES = HEADER_BYTES + MAX_PAYLOAD, OUTBOX_BYTES = 4 * FRAME_BYTES };

struct outbox {
    uint8_t memory[OUTBOX_BYTES];
    size_t begin, end;
};

/* Whether a frame of any size fits. */
bool outbox_has_room(const struct outbox *outbox);
/* Where the payload of the next frame goes, MAX_PAYLOAD bytes; only with room. */
uint8_t *outbox_payload(struct outbox *outbox);
/* Makes what was put there a frame. */
void outbox_commit(struct outbox *outbox, uint8_t type, uint32_t id, size_t length);

/* Writes what the host takes now. @returns false when it takes nothing any more */
bool outbox_flush(struct outbox *outbox, int fd);

#endif
