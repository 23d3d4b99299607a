/* The header of a frame: payload length (u32), request id (u32), type (u8), flags (u8), zero (u16). */
#ifndef BOXD_FRAMES_H
#define BOXD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"
#include "wire.h"

struct frame {
    uint32_t id;
    uint8_t type;
    uint8_t flags;
    struct bytes payload;
};

enum frame_state { FRAME_COMPLETE, FRAME_INCOMPLETE, FRAME_BROKEN };

/* Looks at the beginning of `bytes`; a complete frame takes HEADER_BYTES + payload.length of them. */
enum frame_state frame_parse(struct bytes bytes, struct frame *frame);

/* Whether the payload has the layout of its type. */
bool frame_fits(const struct frame *frame);

void frame_write_header(uint8_t *header, const struct frame *frame);

#endif
