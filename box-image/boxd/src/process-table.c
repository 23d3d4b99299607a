#define _GNU_SOURCE
#include "process-table.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys.h"

static int compare_processes(const void *left, const void *right)
{
    const struct process *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct process *find(struct process_table *table, size_t count, pid_t pid)
{
    struct process wanted = {.pid = pid};
    return bsearch(&wanted, table->entries, count, sizeof wanted, compare_processes);
}

/* The state and the parent stand behind the name, which may hold anything, brackets too. */
static bool read_process(int proc, pid_t pid, struct process *process)
{
    char name[32], text[512];
    snprintf(name, sizeof name, "%d/stat", (int)pid);
    if (read_small_file(proc, name, text, sizeof text) < 0)
        return false;
    const char *rest = strrchr(text, ')');
    int parent;
    if (rest == NULL || sscanf(rest + 1, " %c %d", &process->state, &parent) != 2)
        return false;
    process->pid = pid;
    process->parent = parent;
    return true;
}

static bool is_spared(const struct descent *descent, pid_t pid)
{
    for (size_t index = 0; index < descent->spared_count; index++)
        if (descent->spared[index] == pid)
            return true;
    return false;
}

/* Children mostly have larger ids than their parents, so one or two rounds do. */
static void mark_descendants(struct process_table *table, const struct descent *descent)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (size_t index = 0; index < table->count; index++) {
            struct process *process = &table->entries[index];
            if (process->is_below || is_spared(descent, process->pid))
                continue;
            bool is_below = process->parent == descent->top;
            if (!is_below) {
                const struct process *parent = find(table, table->count, process->parent);
                is_below = parent != NULL && parent->is_below;
            }
            if (is_below)
                process->is_below = has_changed = true;
        }
    }
}

size_t process_table_read(struct process_table *table, const struct descent *descent)
{
    size_t known = table->count, count = 0;
    DIR *listing = opendir("/proc");
    if (listing == NULL)
        return 0;
    /* New entries are put behind the known ones while those are still looked up. */
    const struct dirent *entry;
    while ((entry = readdir(listing)) != NULL && known + count < MAX_PROCESSES) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        struct process *process = &table->entries[known + count];
        if (pid <= 0 || !read_process(dirfd(listing), pid, process))
            continue;
        const struct process *before = find(table, known, pid);
        process->is_frozen = before != NULL && before->is_frozen;
        process->is_below = false;
        count++;
    }
    closedir(listing);
    memmove(table->entries, table->entries + known, count * sizeof table->entries[0]);
    table->count = count;
    qsort(table->entries, count, sizeof table->entries[0], compare_processes);
    mark_descendants(table, descent);

    size_t alive = 0;
    for (size_t index = 0; index < count; index++) {
        char state = table->entries[index].state;
        alive += table->entries[index].is_below && state != 'Z' && state != 'X';
    }
    return alive;
}
