#define _GNU_SOURCE
#include "kill-tree.h"

#include <signal.h>

/* A box that forks as fast as it can is still in a few looks; more would only hold up the killing. */
enum { MAX_LOOKS = 16 };

static bool is_alive(const struct process *process)
{
    return process->is_below && process->state != 'Z' && process->state != 'X';
}

static size_t freeze_new(struct process_table *table)
{
    size_t frozen = 0;
    for (size_t index = 0; index < table->count; index++) {
        struct process *process = &table->entries[index];
        if (!is_alive(process) || process->is_frozen)
            continue;
        process->is_frozen = true;
        frozen += kill(process->pid, SIGSTOP) == 0;
    }
    return frozen;
}

static void signal_all(const struct process_table *table, int number)
{
    for (size_t index = 0; index < table->count; index++)
        if (is_alive(&table->entries[index]))
            kill(table->entries[index].pid, number);
}

size_t kill_tree_pass(struct process_table *table, const struct descent *descent)
{
    table->count = 0;
    size_t alive = process_table_read(table, descent);
    for (int look = 1; freeze_new(table) > 0 && look < MAX_LOOKS; look++)
        alive = process_table_read(table, descent);
    signal_all(table, SIGKILL);
    return alive;
}

size_t terminate_tree(struct process_table *table, const struct descent *descent)
{
    table->count = 0;
    size_t alive = process_table_read(table, descent);
    signal_all(table, SIGTERM);
    /* One that stopped itself would see the first signal only when somebody wakes it. */
    signal_all(table, SIGCONT);
    return alive;
}
