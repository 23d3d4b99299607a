/* The resident server: one thread, one table of commands, one of file requests, one relay, one channel. */
#ifndef BOXD_SERVER_H
#define BOXD_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "connection.h"
#include "files-open.h"
#include "inflow.h"
#include "outbox.h"
#include "process-table.h"
#include "supervise.h"

/* Output of a command. */
struct outflow {
    int fd;
    /* What the host takes before it says more. */
    int64_t credit;
    /* What was in the pipe when the command ended, and is sent whatever happens. */
    int64_t owed;
};

enum { STREAM_OUT = 0, STREAM_ERROR = 1, STREAMS = 2 };

struct command {
    bool is_used;
    uint32_t id;
    /* 0 once it is reaped; -1 as the control once it has said everything. */
    pid_t supervisor;
    int control;
    /* It did not leave by itself: what was below it is the server's. */
    bool was_killed;
    struct outflow out[STREAMS];
    struct inflow input;
    /* The command's own end of the terminal; -1 without one. */
    int terminal;
    bool is_discarding;
    bool was_refused;
    bool is_lost;
    bool has_exit, is_exit_sent;
    struct exit_report exit;
    /* When what still holds the output loses it. */
    int64_t drain_until;
    /* When a supervisor that does not react to a kill is killed itself; 0 = no kill is under way. */
    int64_t kill_deadline;
};

struct file_request {
    bool is_used;
    uint32_t id;
    pid_t worker;
    int socket;
    int64_t credit;
    struct inflow input;
    bool is_cancelled, is_done;
};

struct relay {
    bool is_used, is_cancelled;
    uint32_t id;
    /* -1 once it is cancelled. */
    int listener;
    /* Connections that the host takes before it says more, and the bytes of each. */
    int64_t openings;
    uint32_t window;
    uint32_t last_id;
    /* Until when the port is left alone; 0 = it is not. */
    int64_t rest_until;
    struct connection connections[MAX_CONNECTIONS];
};

struct server {
    int in, out, watch;
    struct root root;
    /* How the channel ended; `is_over` while there is still something to clear. */
    bool has_greeted, is_over;
    int end_code;
    /* What came and is not a whole frame yet. */
    uint8_t incoming[2 * FRAME_BYTES];
    size_t incoming_length;
    /* A request in several frames; NULL outside of one. */
    uint8_t *assembly;
    size_t assembled;
    struct frame assembling;

    struct outbox outbox;
    struct command commands[MAX_COMMANDS];
    struct file_request requests[MAX_FILE_REQUESTS];
    struct relay relay;
    /* Where the next round of sources begins, so that all get their turn. */
    size_t turn;
    /* Children that are nobody's: their supervisor was killed. */
    bool has_strays;
    struct process_table table;
};

/* Serves until the host goes away or breaks the protocol. @returns the exit code of the program */
int serve(int in, int out, const struct root *root);

#endif
