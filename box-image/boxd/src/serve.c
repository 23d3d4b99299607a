/* The loop: waits until something is ready, lets every ready source say one thing, and begins the next round one further. */
#define _GNU_SOURCE
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "commands.h"
#include "kill-tree.h"
#include "relay.h"
#include "requests.h"
#include "sys.h"

enum { SOURCES_PER_COMMAND = 4, SOURCES_PER_REQUEST = 2 };
enum {
    MAX_SOURCES = MAX_COMMANDS * SOURCES_PER_COMMAND + MAX_FILE_REQUESTS * SOURCES_PER_REQUEST + 1 + MAX_CONNECTIONS,
    FIXED = 3,
    SWEEP_PAUSE_MS = 1,
};
/* How long the end waits for the trees of all commands. */
#define CLEARING_LIMIT (5 * SECONDS)
/* How long supervisors may take for it before the server does it without them. */
#define OWN_CLEARING (1500 * MILLISECONDS)
#define FAREWELL_LIMIT (200 * MILLISECONDS)

enum source_kind {
    SOURCE_NEWS,
    SOURCE_OUTPUT,
    SOURCE_INPUT,
    SOURCE_MESSAGE,
    SOURCE_CONTENTS,
    SOURCE_PORT,
    SOURCE_CONNECTION,
    SOURCE_DEPARTURE,
};

struct source {
    enum source_kind kind;
    uint8_t index, stream;
};

struct watch_list {
    size_t count;
    struct pollfd polled[FIXED + MAX_SOURCES];
    struct source sources[MAX_SOURCES];
};

static void watch_for(struct watch_list *list, int fd, short events, struct source source)
{
    list->polled[FIXED + list->count] = (struct pollfd){.fd = fd, .events = events};
    list->sources[list->count++] = source;
}

static void watch_command(const struct server *server, uint8_t index, struct watch_list *list)
{
    const struct command *command = &server->commands[index];
    if (outbox_has_room(&server->outbox)) {
        if (command->control >= 0)
            watch_for(list, command->control, POLLIN, (struct source){SOURCE_NEWS, index, 0});
        for (uint8_t stream = 0; stream < STREAMS; stream++)
            if (command_is_readable(command, stream))
                watch_for(list, command->out[stream].fd, POLLIN, (struct source){SOURCE_OUTPUT, index, stream});
    }
    if (inflow_wants(&command->input))
        watch_for(list, command->input.fd, POLLOUT, (struct source){SOURCE_INPUT, index, 0});
}

static void watch_request(const struct server *server, uint8_t index, struct watch_list *list)
{
    const struct file_request *request = &server->requests[index];
    if (request_is_readable(request) && outbox_has_room(&server->outbox))
        watch_for(list, request->socket, POLLIN, (struct source){SOURCE_MESSAGE, index, 0});
    if (inflow_wants(&request->input))
        watch_for(list, request->input.fd, POLLOUT, (struct source){SOURCE_CONTENTS, index, 0});
}

static void watch_connection(const struct server *server, uint8_t index, struct watch_list *list)
{
    const struct connection *connection = &server->relay.connections[index];
    bool may_read = connection_is_readable(connection) && outbox_has_room(&server->outbox);
    short events = (short)((may_read ? POLLIN : 0) | (connection_wants(connection) ? POLLOUT : 0));
    if (events != 0)
        watch_for(list, connection->socket, events, (struct source){SOURCE_CONNECTION, index, 0});
    else if (connection_is_idle(connection))
        watch_for(list, connection->socket, 0, (struct source){SOURCE_DEPARTURE, index, 0});
}

static void watch_relay(const struct server *server, struct watch_list *list)
{
    if (relay_is_open(&server->relay) && outbox_has_room(&server->outbox))
        watch_for(list, server->relay.listener, POLLIN, (struct source){SOURCE_PORT, 0, 0});
    for (uint8_t index = 0; index < MAX_CONNECTIONS; index++)
        if (server->relay.connections[index].is_used)
            watch_connection(server, index, list);
}

static void build_watch_list(const struct server *server, struct watch_list *list)
{
    bool has_output = server->outbox.begin < server->outbox.end;
    bool may_read = server->incoming_length < sizeof server->incoming && outbox_has_room(&server->outbox);
    list->count = 0;
    list->polled[0] = (struct pollfd){.fd = server->watch, .events = POLLIN};
    /* Without events the end of the host is still seen. */
    list->polled[1] = (struct pollfd){.fd = server->in, .events = may_read ? POLLIN : 0};
    list->polled[2] = (struct pollfd){.fd = has_output ? server->out : -1, .events = POLLOUT};
    for (uint8_t index = 0; index < MAX_COMMANDS; index++)
        if (server->commands[index].is_used)
            watch_command(server, index, list);
    for (uint8_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (server->requests[index].is_used)
            watch_request(server, index, list);
    watch_relay(server, list);
}

static int find_timeout(const struct server *server)
{
    int64_t first = relay_deadline(&server->relay);
    if (server->has_strays)
        return SWEEP_PAUSE_MS;
    for (size_t index = 0; index < MAX_COMMANDS; index++) {
        int64_t deadline = server->commands[index].is_used ? command_deadline(&server->commands[index]) : 0;
        if (deadline != 0 && (first == 0 || deadline < first))
            first = deadline;
    }
    if (first == 0)
        return -1;
    int64_t left = first - now_ns();
    return left <= 0 ? 0 : (int)(left / MILLISECONDS) + 1;
}

static void serve_connection(struct server *server, struct connection *connection)
{
    if (!connection->is_used)
        return;
    connection_pump(connection);
    if (connection_is_readable(connection) && outbox_has_room(&server->outbox))
        connection_take(connection, &server->outbox);
}

static void serve_source(struct server *server, const struct source *source)
{
    struct command *command = &server->commands[source->index];
    struct file_request *request = &server->requests[source->index];
    bool has_room = outbox_has_room(&server->outbox);
    switch (source->kind) {
    case SOURCE_NEWS:
        if (has_room && command->control >= 0)
            command_take_news(server, command);
        break;
    case SOURCE_OUTPUT:
        if (has_room && command_is_readable(command, source->stream))
            command_take_output(server, command, source->stream);
        break;
    case SOURCE_INPUT:
        inflow_pump(&command->input);
        break;
    case SOURCE_MESSAGE:
        if (has_room && request_is_readable(request))
            request_take_messages(server, request);
        break;
    case SOURCE_CONTENTS:
        inflow_pump(&request->input);
        break;
    case SOURCE_PORT:
        if (has_room && relay_is_open(&server->relay))
            relay_take_connection(server);
        break;
    case SOURCE_CONNECTION:
        serve_connection(server, &server->relay.connections[source->index]);
        break;
    case SOURCE_DEPARTURE:
        server->relay.connections[source->index].is_lost = true;
        break;
    }
}

static void serve_sources(struct server *server, const struct watch_list *list)
{
    server->turn++;
    for (size_t offset = 0; offset < list->count; offset++) {
        size_t index = (server->turn + offset) % list->count;
        if (list->polled[FIXED + index].revents != 0)
            serve_source(server, &list->sources[index]);
    }
}

/* Notes which child it was. Strays are nobody's and are only taken. */
static void note_end(struct server *server, pid_t pid, int status)
{
    for (size_t index = 0; index < MAX_COMMANDS; index++) {
        struct command *command = &server->commands[index];
        if (command->is_used && command->supervisor == pid) {
            command->supervisor = 0;
            command->was_killed = !WIFEXITED(status);
        }
    }
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (server->requests[index].is_used && server->requests[index].worker == pid)
            server->requests[index].worker = 0;
}

/* @returns whether any child is left */
static bool reap_children(struct server *server)
{
    drain_watch(server->watch);
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid <= 0)
            return pid == 0;
        note_end(server, pid, status);
    }
}

/* Ends what supervisors left that were killed. Known children and what is below them are not meant. */
static void sweep_strays(struct server *server)
{
    pid_t known[MAX_COMMANDS + MAX_FILE_REQUESTS];
    size_t count = 0;
    for (size_t index = 0; index < MAX_COMMANDS; index++)
        if (server->commands[index].is_used && server->commands[index].supervisor != 0)
            known[count++] = server->commands[index].supervisor;
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (server->requests[index].is_used && server->requests[index].worker != 0)
            known[count++] = server->requests[index].worker;
    struct descent descent = {.top = getpid(), .spared = known, .spared_count = count};
    server->has_strays = kill_tree_pass(&server->table, &descent) > 0;
    reap_children(server);
}

/* Hands on what this round brought. */
static void pump_inputs(struct server *server)
{
    for (size_t index = 0; index < MAX_COMMANDS; index++)
        if (server->commands[index].is_used)
            inflow_pump(&server->commands[index].input);
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (server->requests[index].is_used)
            inflow_pump(&server->requests[index].input);
}

static void advance(struct server *server)
{
    for (size_t index = 0; index < MAX_COMMANDS; index++) {
        struct command *command = &server->commands[index];
        if (!command->is_used)
            continue;
        command_advance(server, command);
        size_t returned = outbox_has_room(&server->outbox) ? inflow_take_returned(&command->input) : 0;
        if (returned > 0)
            say_credit(server, command->id, returned);
    }
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++) {
        struct file_request *request = &server->requests[index];
        if (!request->is_used)
            continue;
        size_t returned = outbox_has_room(&server->outbox) ? inflow_take_returned(&request->input) : 0;
        if (returned > 0)
            say_credit(server, request->id, returned);
        request_advance(server, request);
    }
    relay_advance(server);
}

static void go_round(struct server *server, struct watch_list *list)
{
    build_watch_list(server, list);
    if (poll(list->polled, FIXED + list->count, find_timeout(server)) < 0 && errno != EINTR) {
        server->is_over = true;
        server->end_code = END_UNABLE;
        return;
    }
    if (list->polled[0].revents != 0)
        reap_children(server);
    if (list->polled[1].revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) {
        bool may_read = list->polled[1].events != 0;
        if (may_read)
            channel_read(server);
        else
            server->is_over = true;
    }
    serve_sources(server, list);
    channel_dispatch(server);
    pump_inputs(server);
    if (server->has_strays)
        sweep_strays(server);
    advance(server);
    if (!outbox_flush(&server->outbox, server->out))
        server->is_over = true;
    /* What could not be answered for want of room can be now. */
    channel_dispatch(server);
}

/* Whoever stopped its supervisor does not live on for that. */
static void kill_supervisors(const struct server *server)
{
    for (size_t index = 0; index < MAX_COMMANDS; index++)
        if (server->commands[index].is_used && server->commands[index].supervisor != 0)
            kill(server->commands[index].supervisor, SIGKILL);
}

/* Ends everything that runs, as far as that can be had in time. */
static void clear(struct server *server)
{
    int64_t begin = now_ns();
    for (size_t index = 0; index < MAX_COMMANDS; index++)
        if (server->commands[index].is_used)
            command_abandon(&server->commands[index]);
    for (size_t index = 0; index < MAX_FILE_REQUESTS; index++)
        if (server->requests[index].is_used)
            request_cancel(&server->requests[index]);
    relay_cancel(&server->relay);
    while (reap_children(server) && now_ns() - begin < CLEARING_LIMIT) {
        if (now_ns() - begin > OWN_CLEARING)
            kill_supervisors(server);
        sweep_strays(server);
        pause_ns(SWEEP_PAUSE_MS * MILLISECONDS);
    }
}

/* The host should read why; a host that does not read is not waited for. */
static void say_farewell(struct server *server)
{
    int64_t until = now_ns() + FAREWELL_LIMIT;
    while (outbox_flush(&server->outbox, server->out) && server->outbox.begin < server->outbox.end && now_ns() < until)
        pause_ns(MILLISECONDS);
}

int serve(int in, int out, const struct root *root)
{
    static struct server server;
    static struct watch_list list;
    server.in = in;
    server.out = out;
    server.root = *root;
    block_signals();
    server.watch = watch_children();
    if (server.watch < 0 || !set_nonblocking(in) || !set_nonblocking(out))
        return END_UNABLE;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    say_hello(&server);
    while (!server.is_over)
        go_round(&server, &list);
    say_farewell(&server);
    clear(&server);
    return server.end_code;
}
