#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "entry.h"
#include "faults.h"
#include "files.h"
#include "sys.h"

int tell(struct worker *worker, uint8_t type, struct bytes payload)
{
    struct iovec parts[2] = {
        {.iov_base = &type, .iov_len = 1},
        {.iov_base = (void *)(uintptr_t)payload.at, .iov_len = payload.length},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent;
    do
        sent = sendmsg(worker->socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? FAULT_CANCELLED : 0;
}

int tell_fault(struct worker *worker, uint32_t index, const char *word)
{
    uint8_t payload[64];
    struct writer writer = writer_on(payload, sizeof payload);
    put_u32(&writer, index);
    put_text(&writer, word);
    return tell(worker, BOX_FAULT, (struct bytes){payload, sizeof payload - writer.left});
}

int tell_entry(struct worker *worker, uint32_t index, const struct stat *info)
{
    uint8_t payload[256];
    struct writer writer = writer_on(payload, sizeof payload);
    put_u32(&writer, index);
    put_entry(&writer, info);
    return tell(worker, BOX_ENTRY, (struct bytes){payload, sizeof payload - writer.left});
}

int tell_finished(struct worker *worker, uint32_t index)
{
    uint8_t payload[4];
    struct writer writer = writer_on(payload, sizeof payload);
    put_u32(&writer, index);
    return tell(worker, BOX_FINISHED, (struct bytes){payload, sizeof payload});
}

int check_wanted(const struct worker *worker)
{
    struct pollfd watched = {.fd = worker->socket, .events = 0};
    bool is_gone = poll(&watched, 1, 0) > 0 && (watched.revents & (POLLHUP | POLLERR)) != 0;
    return is_gone ? FAULT_CANCELLED : 0;
}

static int read_exactly(int fd, uint8_t *memory, size_t length)
{
    while (length > 0) {
        ssize_t got = read_some(fd, memory, length);
        if (got <= 0)
            return FAULT_CANCELLED;
        memory += got;
        length -= (size_t)got;
    }
    return 0;
}

int next_content(struct worker *worker, enum content *kind, size_t *length)
{
    while (worker->input_left == 0) {
        uint8_t header[HEADER_BYTES];
        struct frame frame;
        int error = read_exactly(worker->input, header, sizeof header);
        if (error != 0)
            return error;
        /* The server has checked the frame; only its type and length matter here. */
        frame_parse((struct bytes){header, sizeof header}, &frame);
        struct reader reader = reader_of((struct bytes){header, sizeof header});
        worker->input_left = take_u32(&reader);
        if (frame.type == HOST_END) {
            *kind = CONTENT_END;
            *length = 0;
            return 0;
        }
    }
    ssize_t got = read_some(worker->input, worker->buffer, worker->input_left);
    if (got <= 0)
        return FAULT_CANCELLED;
    worker->input_left -= (size_t)got;
    *kind = CONTENT_BYTES;
    *length = (size_t)got;
    return 0;
}

int skip_content(struct worker *worker)
{
    enum content kind = CONTENT_BYTES;
    size_t length;
    int error = 0;
    while (kind == CONTENT_BYTES && error == 0)
        error = next_content(worker, &kind, &length);
    return error;
}

static int dispatch(struct worker *worker, const struct frame *request)
{
    struct reader reader = reader_of(request->payload);
    take_u32(&reader);
    switch (request->type) {
    case REQUEST_STAT:
        return stat_all(worker, &reader);
    case REQUEST_LIST:
        return list_tree(worker, &reader);
    case REQUEST_READ:
        return read_all(worker, &reader);
    case REQUEST_WRITE:
        return write_files(worker, &reader);
    case REQUEST_REMOVE:
        return remove_all(worker, &reader);
    case REQUEST_RESET:
        return reset_all(worker, &reader);
    case REQUEST_MKDIR:
        return make_all(worker, &reader);
    case REQUEST_RENAME:
        return rename_one(worker, &reader);
    case REQUEST_TAR_OUT:
        return tar_out(worker, &reader);
    case REQUEST_TAR_IN:
        return tar_in(worker, &reader);
    default:
        return EINVAL;
    }
}

_Noreturn void work(struct worker *worker, const struct frame *request)
{
    static uint8_t buffer[MAX_PAYLOAD];
    worker->buffer = buffer;
    worker->input_left = 0;
    int error = dispatch(worker, request);
    uint8_t status = error == 0 ? DONE_COMPLETE : DONE_CANCELLED;
    tell(worker, BOX_DONE, (struct bytes){&status, 1});
    _exit(0);
}
