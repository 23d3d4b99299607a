#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "commands.h"
#include "facts.h"
#include "relay.h"
#include "requests.h"
#include "sys.h"

void break_off(struct server *server, const char *why)
{
    if (server->is_over)
        return;
    server->is_over = true;
    server->end_code = END_PROTOCOL;
    if (!outbox_has_room(&server->outbox))
        return;
    struct writer writer = writer_on(outbox_payload(&server->outbox), MAX_PAYLOAD);
    put_text(&writer, why);
    outbox_commit(&server->outbox, BOX_ERROR, 0, MAX_PAYLOAD - writer.left);
}

void say_hello(struct server *server)
{
    struct counters counters = read_counters();
    uint32_t features = FEATURE_TAR | FEATURE_RELAY;
    features |= server->root.has_openat2 ? FEATURE_OPENAT2 : 0;
    features |= counters.memory_kills >= 0 ? FEATURE_COUNTERS : 0;
    struct writer writer = writer_on(outbox_payload(&server->outbox), MAX_PAYLOAD);
    put_u16(&writer, PROTOCOL);
    put_u32(&writer, features);
    put_u32(&writer, MAX_PAYLOAD);
    put_u32(&writer, MAX_REQUEST);
    put_u32(&writer, IN_WINDOW);
    put_u16(&writer, MAX_COMMANDS);
    put_u16(&writer, MAX_FILE_REQUESTS);
    put_u32(&writer, (uint32_t)getpid());
    put_u32(&writer, (uint32_t)geteuid());
    put_text(&writer, BOXD_VERSION);
    outbox_commit(&server->outbox, BOX_HELLO, 0, MAX_PAYLOAD - writer.left);
}

void say_done(struct server *server, uint32_t id, uint8_t status)
{
    outbox_payload(&server->outbox)[0] = status;
    outbox_commit(&server->outbox, BOX_DONE, id, 1);
}

/* A refusal is followed by its end, so this one must leave room for that: both are far below a frame's size. */
void say_fault(struct server *server, uint32_t id, const char *word)
{
    struct writer writer = writer_on(outbox_payload(&server->outbox), 64);
    put_u32(&writer, INDEX_WHOLE);
    put_text(&writer, word);
    outbox_commit(&server->outbox, BOX_FAULT, id, 64 - writer.left);
}

void say_credit(struct server *server, uint32_t id, size_t amount)
{
    struct writer writer = writer_on(outbox_payload(&server->outbox), 4);
    put_u32(&writer, (uint32_t)amount);
    outbox_commit(&server->outbox, BOX_CREDIT, id, 4);
}

void channel_read(struct server *server)
{
    size_t room = sizeof server->incoming - server->incoming_length;
    ssize_t got = read_some(server->in, server->incoming + server->incoming_length, room);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        server->is_over = true;
        return;
    }
    server->incoming_length += (size_t)got;
}

static void greet(struct server *server, const struct frame *frame)
{
    struct reader reader = reader_of(frame->payload);
    uint16_t lowest = take_u16(&reader), highest = take_u16(&reader);
    if (frame->id != 0 || server->has_greeted)
        break_off(server, "a greeting that is not the first frame");
    else if (lowest > PROTOCOL || highest < PROTOCOL)
        break_off(server, "no protocol in common");
    server->has_greeted = true;
}

static void pong(struct server *server, const struct frame *frame)
{
    if (frame->id != 0 || frame->payload.length > MAX_PING) {
        break_off(server, "a ping that is too long or has an id");
        return;
    }
    memcpy(outbox_payload(&server->outbox), frame->payload.at, frame->payload.length);
    outbox_commit(&server->outbox, BOX_PONG, 0, frame->payload.length);
}

static void take_contents(struct server *server, const struct frame *frame)
{
    struct command *command = command_find(server, frame->id);
    struct file_request *request = command == NULL ? request_find(server, frame->id) : NULL;
    struct connection *connection = relay_find(server, frame->id);
    if (connection != NULL && frame->type == HOST_END)
        connection_end(connection);
    else if (connection != NULL && !connection_accept(connection, frame->payload))
        break_off(server, "more contents than the window of a connection allows");
    struct inflow *inflow = command != NULL ? &command->input : request != NULL ? &request->input : NULL;
    /* What ended meanwhile, or takes no contents, loses nothing by them. */
    if (inflow == NULL || inflow->ring == NULL)
        return;
    if (!inflow_accept(inflow, frame))
        break_off(server, "more contents than the window allows");
}

static void add_credit(struct server *server, const struct frame *frame)
{
    struct reader reader = reader_of(frame->payload);
    uint8_t stream = take_u8(&reader);
    uint32_t amount = take_u32(&reader);
    struct command *command = command_find(server, frame->id);
    struct file_request *request = request_find(server, frame->id);
    struct connection *connection = relay_find(server, frame->id);
    if (stream >= STREAMS)
        break_off(server, "credit for a stream that does not exist");
    else if (command != NULL)
        command_add_credit(command, stream, amount);
    else if (request != NULL)
        request_add_credit(request, amount);
    else if (connection != NULL)
        connection_add_credit(connection, amount);
    else if (server->relay.is_used && server->relay.id == frame->id)
        relay_add_openings(&server->relay, amount);
}

static void steer(struct server *server, const struct frame *frame)
{
    struct reader reader = reader_of(frame->payload);
    struct command *command = command_find(server, frame->id);
    if (frame->type == HOST_KILL) {
        uint8_t mode = take_u8(&reader), flags = take_u8(&reader);
        if (mode < KILL_TERM || mode > KILL_TREE || (flags & ~KILL_DISCARD) != 0)
            break_off(server, "a kill of an unknown kind");
        else if (command != NULL)
            command_kill(command, mode, flags);
    } else if (frame->type == HOST_SIGNAL) {
        uint8_t number = take_u8(&reader);
        if (number == 0 || number >= NSIG)
            break_off(server, "a signal that does not exist");
        else if (command != NULL)
            command_signal(command, number);
    } else if (command != NULL) {
        uint16_t rows = take_u16(&reader);
        command_resize(command, rows, take_u16(&reader));
    }
}

static void cancel(struct server *server, const struct frame *frame)
{
    struct command *command = command_find(server, frame->id);
    struct file_request *request = request_find(server, frame->id);
    struct connection *connection = relay_find(server, frame->id);
    if (command != NULL)
        command_kill(command, KILL_TREE, KILL_DISCARD);
    else if (request != NULL)
        request_cancel(request);
    else if (connection != NULL)
        connection->is_cancelled = true;
    else if (server->relay.is_used && server->relay.id == frame->id)
        relay_cancel(&server->relay);
}

static void tell_processes(struct server *server, uint32_t id)
{
    pid_t own[1 + MAX_COMMANDS + MAX_FILE_REQUESTS] = {getpid()};
    size_t count = 1;
    for (size_t index = 0; index < MAX_COMMANDS; index++)
        if (server->commands[index].is_used && server->commands[index].supervisor != 0)
            own[count++] = server->commands[index].supervisor;
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (server->requests[index].is_used && server->requests[index].worker != 0)
            own[count++] = server->requests[index].worker;
    /* Its end follows, and both are to fit into the room of one frame. */
    enum { LENGTH = MAX_PAYLOAD - 64 };
    struct writer writer = writer_on(outbox_payload(&server->outbox), LENGTH);
    put_processes(&writer, own, count);
    outbox_commit(&server->outbox, BOX_PROCESSES, id, LENGTH - writer.left);
    say_done(server, id, DONE_COMPLETE);
}

static void tell_usage(struct server *server, uint32_t id)
{
    struct writer writer = writer_on(outbox_payload(&server->outbox), MAX_PAYLOAD);
    put_usage(&writer, server->root.fd);
    outbox_commit(&server->outbox, BOX_USAGE, id, MAX_PAYLOAD - writer.left);
    say_done(server, id, DONE_COMPLETE);
}

static bool is_in_use(struct server *server, uint32_t id)
{
    return command_find(server, id) != NULL || request_find(server, id) != NULL || relay_find(server, id) != NULL ||
           (server->relay.is_used && server->relay.id == id);
}

static void begin_request(struct server *server, const struct frame *frame)
{
    if (frame->id == 0 || is_in_use(server, frame->id))
        break_off(server, "a request with an id that is in use");
    else if (frame->type == REQUEST_SPAWN)
        command_spawn(server, frame);
    else if (frame->type == REQUEST_PROCESSES)
        tell_processes(server, frame->id);
    else if (frame->type == REQUEST_USAGE)
        tell_usage(server, frame->id);
    else if (frame->type == REQUEST_RELAY)
        relay_start(server, frame);
    else
        request_start(server, frame);
}

static void act(struct server *server, const struct frame *frame)
{
    if (!frame_fits(frame)) {
        break_off(server, "a payload that does not fit its type");
        return;
    }
    switch (frame->type) {
    case HOST_HELLO:
        greet(server, frame);
        break;
    case HOST_PING:
        pong(server, frame);
        break;
    case HOST_CREDIT:
        add_credit(server, frame);
        break;
    case HOST_CANCEL:
        cancel(server, frame);
        break;
    case HOST_DATA:
    case HOST_END:
        take_contents(server, frame);
        break;
    case HOST_KILL:
    case HOST_SIGNAL:
    case HOST_RESIZE:
        steer(server, frame);
        break;
    default:
        begin_request(server, frame);
    }
}

static void drop_assembly(struct server *server)
{
    if (server->assembly != NULL)
        munmap(server->assembly, MAX_REQUEST);
    server->assembly = NULL;
    server->assembled = 0;
}

/* Puts a request together whose parts follow each other directly. */
static void assemble(struct server *server, const struct frame *frame)
{
    bool is_first = server->assembly == NULL;
    if (is_first) {
        void *memory = mmap(NULL, MAX_REQUEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) {
            break_off(server, "no memory for a request in parts");
            return;
        }
        server->assembly = memory;
        server->assembling = *frame;
    } else if (frame->id != server->assembling.id || frame->type != server->assembling.type) {
        break_off(server, "a frame between the parts of a request");
        return;
    }
    if (frame->payload.length > MAX_REQUEST - server->assembled) {
        break_off(server, "a request that is too long");
        return;
    }
    if (frame->payload.length > 0)
        memcpy(server->assembly + server->assembled, frame->payload.at, frame->payload.length);
    server->assembled += frame->payload.length;
    if ((frame->flags & FLAG_MORE) != 0)
        return;
    struct frame whole = server->assembling;
    whole.payload = (struct bytes){server->assembly, server->assembled};
    act(server, &whole);
    drop_assembly(server);
}

static void take_frame(struct server *server, const struct frame *frame)
{
    if (!server->has_greeted && frame->type != HOST_HELLO)
        break_off(server, "a frame before the greeting");
    else if (server->assembly != NULL || (frame->flags & FLAG_MORE) != 0)
        assemble(server, frame);
    else
        act(server, frame);
}

void channel_dispatch(struct server *server)
{
    size_t taken = 0;
    while (!server->is_over && outbox_has_room(&server->outbox)) {
        struct frame frame;
        struct bytes rest = {server->incoming + taken, server->incoming_length - taken};
        enum frame_state state = frame_parse(rest, &frame);
        if (state == FRAME_INCOMPLETE)
            break;
        if (state == FRAME_BROKEN) {
            break_off(server, "a frame with an unknown type, flag or length");
            break;
        }
        taken += HEADER_BYTES + frame.payload.length;
        take_frame(server, &frame);
    }
    memmove(server->incoming, server->incoming + taken, server->incoming_length - taken);
    server->incoming_length -= taken;
}
