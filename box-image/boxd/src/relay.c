#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "channel.h"
#include "commands.h"
#include "requests.h"
#include "sys.h"

enum { WAITING = 128 };
/* How long the port rests when the box has no descriptor or memory for a connection. */
#define REST (100 * MILLISECONDS)

struct connection *relay_find(struct server *server, uint32_t id)
{
    struct relay *relay = &server->relay;
    for (size_t index = 0; index < MAX_CONNECTIONS; index++)
        if (relay->connections[index].is_used && relay->connections[index].id == id)
            return &relay->connections[index];
    return NULL;
}

static struct connection *find_free(struct relay *relay)
{
    for (size_t index = 0; index < MAX_CONNECTIONS; index++)
        if (!relay->connections[index].is_used)
            return &relay->connections[index];
    return NULL;
}

static int listen_on(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 || listen(fd, WAITING) < 0) {
        int error = errno;
        close_fd(&fd);
        errno = error;
    }
    return fd;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &length) < 0 ? 0 : ntohs(address.sin_port);
}

static const char *word_of(int error)
{
    if (error == EADDRINUSE)
        return "in_use";
    return error == EACCES || error == EPERM ? "denied" : "busy";
}

static void refuse(struct server *server, uint32_t id, const char *word)
{
    say_fault(server, id, word);
    say_done(server, id, DONE_REFUSED);
}

void relay_start(struct server *server, const struct frame *frame)
{
    struct relay *relay = &server->relay;
    struct reader reader = reader_of(frame->payload);
    uint32_t openings = take_u32(&reader), window = take_u32(&reader);
    if (relay->is_used) {
        refuse(server, frame->id, "busy");
        return;
    }
    int listener = listen_on(take_u16(&reader));
    if (listener < 0) {
        refuse(server, frame->id, word_of(errno));
        return;
    }
    relay->is_used = true;
    relay->is_cancelled = false;
    relay->id = frame->id;
    relay->listener = listener;
    relay->openings = openings;
    relay->window = window;
    relay->rest_until = 0;
    struct writer writer = writer_on(outbox_payload(&server->outbox), MAX_PAYLOAD);
    put_u16(&writer, port_of(listener));
    outbox_commit(&server->outbox, BOX_RELAYING, frame->id, MAX_PAYLOAD - writer.left);
}

void relay_cancel(struct relay *relay)
{
    if (!relay->is_used)
        return;
    relay->is_cancelled = true;
    close_fd(&relay->listener);
    for (size_t index = 0; index < MAX_CONNECTIONS; index++)
        relay->connections[index].is_cancelled = true;
}

void relay_add_openings(struct relay *relay, uint32_t amount)
{
    relay->openings = relay->openings + amount < UINT32_MAX ? relay->openings + amount : UINT32_MAX;
}

bool relay_is_open(const struct relay *relay)
{
    if (!relay->is_used || relay->listener < 0 || relay->openings <= 0)
        return false;
    if (relay->rest_until != 0 && now_ns() < relay->rest_until)
        return false;
    for (size_t index = 0; index < MAX_CONNECTIONS; index++)
        if (!relay->connections[index].is_used)
            return true;
    return false;
}

/* Numbers of our own half, which the host leaves alone. */
static uint32_t choose_id(struct server *server)
{
    struct relay *relay = &server->relay;
    do
        relay->last_id = relay->last_id == UINT32_MAX ? 0 : relay->last_id + 1;
    while ((relay->last_id & FIRST_CONNECTION) == 0 || relay_find(server, relay->last_id) != NULL ||
           command_find(server, relay->last_id) != NULL || request_find(server, relay->last_id) != NULL);
    return relay->last_id;
}

void relay_take_connection(struct server *server)
{
    struct relay *relay = &server->relay;
    struct connection *connection = find_free(relay);
    int on = 1;
    int fd = accept4(relay->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    relay->rest_until = 0;
    if (fd < 0) {
        bool is_usual = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
        relay->rest_until = is_usual ? 0 : now_ns() + REST;
        return;
    }
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        errno = 0;
    connection_begin(connection, choose_id(server), fd, relay->window);
    relay->openings--;
    outbox_commit(&server->outbox, BOX_OPENED, connection->id, 0);
}

static void advance_connection(struct server *server, struct connection *connection)
{
    if (!outbox_has_room(&server->outbox))
        return;
    if (connection_is_over(connection)) {
        uint8_t broken = connection->is_cancelled ? DONE_CANCELLED : DONE_LOST;
        say_done(server, connection->id, connection->is_cancelled || connection->is_lost ? broken : DONE_COMPLETE);
        connection_close(connection);
        return;
    }
    size_t returned = connection_take_returned(connection);
    if (returned > 0)
        say_credit(server, connection->id, returned);
}

void relay_advance(struct server *server)
{
    struct relay *relay = &server->relay;
    bool is_empty = true;
    if (!relay->is_used)
        return;
    for (size_t index = 0; index < MAX_CONNECTIONS; index++) {
        struct connection *connection = &relay->connections[index];
        if (connection->is_used)
            advance_connection(server, connection);
        is_empty = is_empty && !connection->is_used;
    }
    if (!relay->is_cancelled || !is_empty || !outbox_has_room(&server->outbox))
        return;
    say_done(server, relay->id, DONE_CANCELLED);
    relay->is_used = false;
}

int64_t relay_deadline(const struct relay *relay)
{
    return relay->is_used && now_ns() < relay->rest_until ? relay->rest_until : 0;
}
