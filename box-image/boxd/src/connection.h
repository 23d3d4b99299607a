/* One connection that a program in the box has opened to the relay: its bytes to the host and the host's bytes to it. */
#ifndef BOXD_CONNECTION_H
#define BOXD_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outbox.h"

struct connection {
    bool is_used;
    uint32_t id;
    int socket;
    /* What the host takes before it says more. */
    int64_t credit;
    /* What the host sent and the program has not taken; NULL before the first of it. */
    uint8_t *ring;
    size_t begin, used;
    /* What the host may still send, and what it may be given back. */
    size_t window, returned;
    /* The program writes no more; the host sends no more; the program was told so. */
    bool has_heard_end, is_ending, is_shut;
    /* The program, or the host, broke it off. */
    bool is_lost, is_cancelled;
};

/* Takes over the socket. */
void connection_begin(struct connection *connection, uint32_t id, int socket, uint32_t window);
/* Lets go of it; what is under way on one that did not end by itself is dropped. */
void connection_close(struct connection *connection);

/* Takes contents of the host. @returns false when it sends more than it may */
bool connection_accept(struct connection *connection, struct bytes payload);
/* The host sends no more. */
void connection_end(struct connection *connection);
void connection_add_credit(struct connection *connection, uint32_t amount);

/* Whether the program's bytes may be read now. */
bool connection_is_readable(const struct connection *connection);
/* Whether contents of the host wait for the program. */
bool connection_wants(const struct connection *connection);
/* Whether nothing is left but to see that the program goes away. */
bool connection_is_idle(const struct connection *connection);
/* Reads once; needs room in the outbox. */
void connection_take(struct connection *connection, struct outbox *outbox);
/* Passes on what the program takes now. */
void connection_pump(struct connection *connection);
/* What the host may be told that it can send again; 0 while that is not worth a frame. */
size_t connection_take_returned(struct connection *connection);
/* Whether it is over, for whatever reason. */
bool connection_is_over(const struct connection *connection);

#endif
