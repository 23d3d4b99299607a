#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "sys.h"

enum { WORTH_A_FRAME = RELAY_WINDOW / 4 };
#define MAX_CREDIT (INT64_C(1) << 40)

void connection_begin(struct connection *connection, uint32_t id, int socket, uint32_t window)
{
    *connection = (struct connection){
        .is_used = true, .id = id, .socket = socket, .credit = window, .window = RELAY_WINDOW};
}

void connection_close(struct connection *connection)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    bool is_broken = connection->is_lost || connection->is_cancelled;
    if (is_broken && connection->socket >= 0 &&
        setsockopt(connection->socket, SOL_SOCKET, SO_LINGER, &now, sizeof now) < 0)
        errno = 0;
    close_fd(&connection->socket);
    if (connection->ring != NULL)
        munmap(connection->ring, RELAY_WINDOW);
    connection->ring = NULL;
    connection->used = 0;
    connection->is_used = false;
}

static void consume(struct connection *connection, size_t length)
{
    connection->begin = (connection->begin + length) % RELAY_WINDOW;
    connection->used -= length;
    connection->returned += length;
}

/* The program takes nothing any more: what the host sends is swallowed. */
static void lose(struct connection *connection)
{
    connection->is_lost = true;
    consume(connection, connection->used);
}

static bool has_ring(struct connection *connection)
{
    if (connection->ring != NULL)
        return true;
    void *ring = mmap(NULL, RELAY_WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    connection->ring = ring == MAP_FAILED ? NULL : ring;
    return ring != MAP_FAILED;
}

static void push(struct connection *connection, struct bytes payload)
{
    while (payload.length > 0) {
        size_t end = (connection->begin + connection->used) % RELAY_WINDOW;
        size_t part = RELAY_WINDOW - end < payload.length ? RELAY_WINDOW - end : payload.length;
        memcpy(connection->ring + end, payload.at, part);
        connection->used += part;
        payload.at += part;
        payload.length -= part;
    }
}

bool connection_accept(struct connection *connection, struct bytes payload)
{
    size_t cost = HEADER_BYTES + payload.length;
    if (cost > connection->window)
        return false;
    connection->window -= cost;
    connection->returned += HEADER_BYTES;
    bool is_taken = !connection->is_lost && !connection->is_cancelled && !connection->is_ending;
    if (is_taken && !has_ring(connection))
        lose(connection);
    if (!is_taken || connection->is_lost) {
        connection->returned += payload.length;
        return true;
    }
    push(connection, payload);
    connection_pump(connection);
    return true;
}

void connection_end(struct connection *connection)
{
    connection->is_ending = true;
    connection_pump(connection);
}

void connection_add_credit(struct connection *connection, uint32_t amount)
{
    connection->credit = connection->credit + amount < MAX_CREDIT ? connection->credit + amount : MAX_CREDIT;
}

bool connection_is_readable(const struct connection *connection)
{
    return !connection->has_heard_end && !connection_is_over(connection) && connection->credit > 0;
}

bool connection_wants(const struct connection *connection)
{
    return connection->used > 0 && !connection_is_over(connection);
}

bool connection_is_idle(const struct connection *connection)
{
    return connection->has_heard_end && connection->used == 0 && !connection_is_over(connection);
}

void connection_take(struct connection *connection, struct outbox *outbox)
{
    ssize_t got = read_some(connection->socket, outbox_payload(outbox), MAX_PAYLOAD);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got < 0) {
        lose(connection);
        return;
    }
    connection->has_heard_end = got == 0;
    connection->credit -= got == 0 ? 0 : HEADER_BYTES + got;
    outbox_commit(outbox, got == 0 ? BOX_ENDED : BOX_RECEIVED, connection->id, (size_t)got);
}

void connection_pump(struct connection *connection)
{
    while (connection_wants(connection)) {
        size_t length = connection->used;
        if (length > RELAY_WINDOW - connection->begin)
            length = RELAY_WINDOW - connection->begin;
        ssize_t put = write_some(connection->socket, connection->ring + connection->begin, length);
        if (put < 0 && errno == EAGAIN)
            return;
        if (put < 0)
            lose(connection);
        else
            consume(connection, (size_t)put);
    }
    if (!connection->is_ending || connection->is_shut || connection_is_over(connection))
        return;
    connection->is_shut = true;
    if (shutdown(connection->socket, SHUT_WR) < 0)
        lose(connection);
}

size_t connection_take_returned(struct connection *connection)
{
    size_t returned = connection->returned;
    if (returned < WORTH_A_FRAME || connection_is_over(connection))
        return 0;
    connection->returned = 0;
    connection->window += returned;
    return returned;
}

bool connection_is_over(const struct connection *connection)
{
    bool has_ended = connection->has_heard_end && connection->is_shut;
    return has_ended || connection->is_lost || connection->is_cancelled;
}
