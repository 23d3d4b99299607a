#define _GNU_SOURCE
#include "inflow.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "sys.h"

enum { WORTH_A_FRAME = IN_WINDOW / 4, PIPE_BYTES = IN_WINDOW / 2, END_OF_TYPING = 4 };

bool inflow_open(struct inflow *inflow, int fd, bool has_headers)
{
    void *ring = mmap(NULL, IN_WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ring == MAP_FAILED)
        return false;
    widen_pipe(fd, PIPE_BYTES);
    *inflow = (struct inflow){.ring = ring, .window = IN_WINDOW, .fd = fd, .has_headers = has_headers};
    return true;
}

void inflow_close(struct inflow *inflow)
{
    close_fd(&inflow->fd);
    if (inflow->ring != NULL)
        munmap(inflow->ring, IN_WINDOW);
    inflow->ring = NULL;
    inflow->used = 0;
}

static void push(struct inflow *inflow, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        size_t end = (inflow->begin + inflow->used) % IN_WINDOW;
        size_t part = IN_WINDOW - end < length ? IN_WINDOW - end : length;
        memcpy(inflow->ring + end, bytes, part);
        inflow->used += part;
        bytes += part;
        length -= part;
    }
}

static void consume(struct inflow *inflow, size_t length)
{
    inflow->begin = (inflow->begin + length) % IN_WINDOW;
    inflow->used -= length;
    inflow->returned += length;
}

/* The reader is gone: the host may send on, nothing of it matters. */
static void stop(struct inflow *inflow)
{
    close_fd(&inflow->fd);
    inflow->frame_left = 0;
    consume(inflow, inflow->used);
}

bool inflow_accept(struct inflow *inflow, const struct frame *frame)
{
    uint8_t header[HEADER_BYTES];
    size_t cost = HEADER_BYTES + frame->payload.length;
    if (cost > inflow->window)
        return false;
    inflow->window -= cost;
    frame_write_header(header, frame);
    push(inflow, header, sizeof header);
    push(inflow, frame->payload.at, frame->payload.length);
    if (inflow->fd < 0)
        stop(inflow);
    return true;
}

bool inflow_wants(const struct inflow *inflow)
{
    return inflow->ring != NULL && inflow->fd >= 0 && inflow->used > 0;
}

/* Takes the next header off the ring. */
static void open_frame(struct inflow *inflow)
{
    uint8_t header[HEADER_BYTES];
    for (size_t index = 0; index < HEADER_BYTES; index++)
        header[index] = inflow->ring[(inflow->begin + index) % IN_WINDOW];
    consume(inflow, HEADER_BYTES);
    struct reader reader = reader_of((struct bytes){header, sizeof header});
    inflow->frame_left = take_u32(&reader);
    take_u32(&reader);
    if (take_u8(&reader) != HOST_END)
        return;
    /* A terminal knows no closed end; its reader takes this character for one. */
    uint8_t end = END_OF_TYPING;
    if (inflow->is_tty && write_some(inflow->fd, &end, 1) < 0)
        errno = 0;
    stop(inflow);
}

void inflow_pump(struct inflow *inflow)
{
    while (inflow_wants(inflow)) {
        size_t length = inflow->used;
        if (!inflow->has_headers) {
            if (inflow->frame_left == 0) {
                open_frame(inflow);
                continue;
            }
            length = inflow->frame_left < length ? inflow->frame_left : length;
        }
        if (length > IN_WINDOW - inflow->begin)
            length = IN_WINDOW - inflow->begin;
        ssize_t put = write_some(inflow->fd, inflow->ring + inflow->begin, length);
        if (put < 0 && errno == EAGAIN)
            return;
        if (put < 0) {
            stop(inflow);
            return;
        }
        if (!inflow->has_headers)
            inflow->frame_left -= (size_t)put;
        consume(inflow, (size_t)put);
    }
}

size_t inflow_take_returned(struct inflow *inflow)
{
    size_t returned = inflow->returned;
    if (inflow->ring == NULL || returned < WORTH_A_FRAME)
        return 0;
    inflow->returned = 0;
    inflow->window += returned;
    return returned;
}
