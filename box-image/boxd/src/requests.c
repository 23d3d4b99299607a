#define _GNU_SOURCE
#include "requests.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "channel.h"
#include "sys.h"
#include "worker.h"

#define MAX_CREDIT (INT64_C(1) << 40)
/* With the last one a turn costs less than two whole frames. */
enum { TURN_BYTES = MAX_PAYLOAD };

struct file_request *request_find(struct server *server, uint32_t id)
{
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (server->requests[index].is_used && server->requests[index].id == id)
            return &server->requests[index];
    return NULL;
}

static struct file_request *find_free(struct server *server)
{
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (!server->requests[index].is_used)
            return &server->requests[index];
    return NULL;
}

static bool takes_contents(uint8_t type) { return type == REQUEST_WRITE || type == REQUEST_TAR_IN; }

/* The child of the server that becomes the worker. */
static _Noreturn void become_worker(const struct server *server, const struct frame *frame, int socket, int input)
{
    struct worker worker = {.root = &server->root, .socket = socket, .input = input};
    int kept[] = {socket, input, server->root.fd};
    if (!detach_stdio())
        _exit(1);
    close_others(kept, sizeof kept / sizeof kept[0]);
    work(&worker, frame);
}

static bool start_worker(struct server *server, struct file_request *request, const struct frame *frame)
{
    int theirs = -1, input = -1, output = -1;
    bool is_open = make_message_pair(&request->socket, &theirs) && set_nonblocking(request->socket);
    if (is_open && takes_contents(frame->type)) {
        is_open = make_pipe(&input, &output) && set_nonblocking(output) && inflow_open(&request->input, output, true);
        if (!is_open)
            close_fd(&output);
    }
    pid_t pid = is_open ? fork() : -1;
    if (pid == 0)
        become_worker(server, frame, theirs, input);
    close_fd(&theirs);
    close_fd(&input);
    request->worker = pid > 0 ? pid : 0;
    return pid > 0;
}

void request_start(struct server *server, const struct frame *frame)
{
    struct reader reader = reader_of(frame->payload);
    struct file_request *request = find_free(server);
    if (request != NULL) {
        *request = (struct file_request){.id = frame->id, .socket = -1, .credit = take_u32(&reader)};
        request->input.fd = -1;
        request->is_used = start_worker(server, request, frame);
    }
    if (request == NULL || !request->is_used) {
        if (request != NULL) {
            close_fd(&request->socket);
            inflow_close(&request->input);
        }
        say_fault(server, frame->id, "busy");
        say_done(server, frame->id, DONE_REFUSED);
    }
}

void request_cancel(struct file_request *request)
{
    request->is_cancelled = true;
    close_fd(&request->socket);
    inflow_close(&request->input);
}

void request_add_credit(struct file_request *request, uint32_t amount)
{
    request->credit = request->credit + amount < MAX_CREDIT ? request->credit + amount : MAX_CREDIT;
}

bool request_is_readable(const struct file_request *request)
{
    return request->socket >= 0 && request->credit > 0;
}

/* @returns what it cost; 0 = none was there */
static size_t take_message(struct server *server, struct file_request *request)
{
    uint8_t type = 0;
    struct iovec parts[2] = {
        {.iov_base = &type, .iov_len = 1},
        {.iov_base = outbox_payload(&server->outbox), .iov_len = MAX_PAYLOAD},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got = recvmsg(request->socket, &message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        close_fd(&request->socket);
        return 0;
    }
    size_t cost = HEADER_BYTES + (size_t)got - 1;
    request->credit -= (int64_t)cost;
    request->is_done = type == BOX_DONE;
    outbox_commit(&server->outbox, type, request->id, (size_t)got - 1);
    if (request->is_done) {
        close_fd(&request->socket);
        inflow_close(&request->input);
    }
    return cost;
}

void request_take_messages(struct server *server, struct file_request *request)
{
    size_t taken = 0, cost;
    do {
        cost = take_message(server, request);
        taken += cost;
    } while (cost > 0 && taken < TURN_BYTES && request_is_readable(request) && outbox_has_room(&server->outbox));
}

void request_advance(struct server *server, struct file_request *request)
{
    bool has_left = request->worker == 0 && request->socket < 0;
    if (!has_left || !outbox_has_room(&server->outbox))
        return;
    if (!request->is_done)
        say_done(server, request->id, request->is_cancelled ? DONE_CANCELLED : DONE_LOST);
    inflow_close(&request->input);
    request->is_used = false;
}
