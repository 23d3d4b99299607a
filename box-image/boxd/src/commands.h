/* Commands as the server sees them: pipes, credit and the supervisor of each. */
#ifndef BOXD_COMMANDS_H
#define BOXD_COMMANDS_H

#include "server.h"

struct command *command_find(struct server *server, uint32_t id);
/* Starts the supervisor of a new command, or refuses. */
void command_spawn(struct server *server, const struct frame *request);

void command_kill(struct command *command, uint8_t mode, uint8_t flags);
void command_signal(struct command *command, uint8_t number);
void command_resize(struct command *command, uint16_t rows, uint16_t columns);
void command_add_credit(struct command *command, uint8_t stream, uint32_t amount);

/* What the loop does with what is ready; each needs room in the outbox. */
void command_take_news(struct server *server, struct command *command);
void command_take_output(struct server *server, struct command *command, int stream);
/* Sends the exit and the end when they are due. */
void command_advance(struct server *server, struct command *command);
/* Whether its output may be read now. */
bool command_is_readable(const struct command *command, int stream);
/* When `command_advance` has something to do whatever happens; 0 = never. */
int64_t command_deadline(const struct command *command);
/* The channel is gone: its whole tree ends. */
void command_abandon(struct command *command);

#endif
