#include "outbox.h"

#include <errno.h>
#include <string.h>

#include "sys.h"

bool outbox_has_room(const struct outbox *outbox)
{
    return OUTBOX_BYTES - (outbox->end - outbox->begin) >= FRAME_BYTES;
}

uint8_t *outbox_payload(struct outbox *outbox)
{
    if (OUTBOX_BYTES - outbox->end < FRAME_BYTES) {
        memmove(outbox->memory, outbox->memory + outbox->begin, outbox->end - outbox->begin);
        outbox->end -= outbox->begin;
        outbox->begin = 0;
    }
    return outbox->memory + outbox->end + HEADER_BYTES;
}

void outbox_commit(struct outbox *outbox, uint8_t type, uint32_t id, size_t length)
{
    struct frame frame = {.id = id, .type = type, .payload = {.at = NULL, .length = length}};
    frame_write_header(outbox->memory + outbox->end, &frame);
    outbox->end += HEADER_BYTES + length;
}

bool outbox_flush(struct outbox *outbox, int fd)
{
    while (outbox->begin < outbox->end) {
        ssize_t put = write_some(fd, outbox->memory + outbox->begin, outbox->end - outbox->begin);
        if (put < 0)
            return errno == EAGAIN;
        outbox->begin += (size_t)put;
    }
    outbox->begin = outbox->end = 0;
    return true;
}
