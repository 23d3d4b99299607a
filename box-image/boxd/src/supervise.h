/*
 * The supervisor of one command. It is the subreaper of whatever the command starts, in whatever session or group, so
 * descent finds all of it. It answers when the foreground process ends, and stays for what that left behind.
 */
#ifndef BOXD_SUPERVISE_H
#define BOXD_SUPERVISE_H

#include <stdint.h>
#include <sys/types.h>

#include "facts.h"
#include "spawn.h"

/* Between server and supervisor, as messages on their own socket; never leaves the machine, so plain structures do. */
enum order_kind { ORDER_TERM, ORDER_KILL, ORDER_SIGNAL };
struct order {
    uint32_t kind;
    int32_t number;
    /* Process group in the foreground of the terminal; 0 = that of the command. */
    int32_t group;
};

enum news_kind { NEWS_STARTED, NEWS_FAULT, NEWS_KILLING, NEWS_EXIT };
struct exit_report {
    uint8_t by, ended;
    uint16_t value;
    uint32_t leftovers;
    int64_t started_ns, ended_ns;
    uint64_t user_us, system_us, max_resident_bytes;
    struct counters counters;
    bool may_be_memory;
};
struct news {
    uint32_t kind;
    int32_t pid;
    int64_t started_ns;
    struct counters counters;
    char fault[32];
    struct exit_report exit;
};

struct supervision {
    const struct root *root;
    struct stdio stdio;
    /* The server's orders, or whatever becomes readable when the command is to end. */
    int control;
    /* Without a server there is nobody to keep what is left behind for. */
    bool is_alone;
};

/* Runs a command to the end of everything it started. @returns how its foreground process ended; never while any lives */
struct exit_report supervise(const struct supervision *supervision, const struct spawn_plan *plan);

#endif
