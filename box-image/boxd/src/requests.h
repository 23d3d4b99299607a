/* File requests as the server sees them: one worker each, whose messages become frames. */
#ifndef BOXD_REQUESTS_H
#define BOXD_REQUESTS_H

#include "server.h"

struct file_request *request_find(struct server *server, uint32_t id);
/* Starts a worker, or refuses. */
void request_start(struct server *server, const struct frame *frame);
void request_cancel(struct file_request *request);
void request_add_credit(struct file_request *request, uint32_t amount);
/* Whether its next message may be taken now. */
bool request_is_readable(const struct file_request *request);
/* Passes on one message, or some small ones; needs room in the outbox. */
void request_take_messages(struct server *server, struct file_request *request);
/* Tells the end when it is due. */
void request_advance(struct server *server, struct file_request *request);

#endif
