/* Ends processes by descent, not by name, group or environment: those the victims can change. */
#ifndef BOXD_KILL_TREE_H
#define BOXD_KILL_TREE_H

#include "process-table.h"

/*
 * Freezes all descendants until no new one appears, so that nobody can fork away, then kills them. One pass; the caller
 * reaps and repeats until none is left. @returns how many were alive
 */
size_t kill_tree_pass(struct process_table *table, const struct descent *descent);

/* Asks all descendants to end. @returns how many were asked */
size_t terminate_tree(struct process_table *table, const struct descent *descent);

#endif
