/* Frames from and to the host. */
#ifndef BOXD_CHANNEL_H
#define BOXD_CHANNEL_H

#include "server.h"

/* Reads what the host sent, without waiting. */
void channel_read(struct server *server);
/* Acts on the frames that came, as long as there is room for answers. */
void channel_dispatch(struct server *server);

void say_hello(struct server *server);
void say_done(struct server *server, uint32_t id, uint8_t status);
void say_fault(struct server *server, uint32_t id, const char *word);
void say_credit(struct server *server, uint32_t id, size_t amount);
/* The host broke the protocol: tells why and ends. */
void break_off(struct server *server, const char *why);

#endif
