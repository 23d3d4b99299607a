/* A port of the box's loopback whose connections the host serves. It listens only while the host asks for that. */
#ifndef BOXD_RELAY_H
#define BOXD_RELAY_H

#include "server.h"

/* Begins to listen, or refuses. */
void relay_start(struct server *server, const struct frame *frame);
/* Stops listening and breaks off every connection. */
void relay_cancel(struct relay *relay);
/* The host takes so many connections more. */
void relay_add_openings(struct relay *relay, uint32_t amount);
struct connection *relay_find(struct server *server, uint32_t id);

/* Whether a connection may be taken from the port now. */
bool relay_is_open(const struct relay *relay);
/* Takes one; needs room in the outbox. */
void relay_take_connection(struct server *server);
/* Tells credit and ends when they are due. */
void relay_advance(struct server *server);
/* When the port is looked at again whatever happens; 0 = never. */
int64_t relay_deadline(const struct relay *relay);

#endif
