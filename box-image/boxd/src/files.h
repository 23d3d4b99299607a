/*
 * The file requests. Each takes its fields behind the window and answers item by item; a fault of one item is its answer
 * and ends that item only. All return 0, or FAULT_CANCELLED when nobody listens any more.
 */
#ifndef BOXD_FILES_H
#define BOXD_FILES_H

#include "worker.h"

int stat_all(struct worker *worker, struct reader *request);
int read_all(struct worker *worker, struct reader *request);
int write_files(struct worker *worker, struct reader *request);
int list_tree(struct worker *worker, struct reader *request);
int remove_all(struct worker *worker, struct reader *request);
int reset_all(struct worker *worker, struct reader *request);
int make_all(struct worker *worker, struct reader *request);
int rename_one(struct worker *worker, struct reader *request);
int tar_out(struct worker *worker, struct reader *request);
int tar_in(struct worker *worker, struct reader *request);

/* Shared by them. Answers with the fault and says whether to go on. */
int answer_fault(struct worker *worker, uint32_t index, int error, const char *otherwise);
/* Removes one entry of a held directory; a directory only with all below it. Bounded in steps and descriptors. */
int remove_entry(const struct worker *worker, int parent, const char *name, bool is_recursive,
                 struct bytes version);

/* One file to be written, and what gives its contents: writes exactly `size` bytes to `target`, or fails. */
struct item {
    uint8_t mode;
    uint64_t size;
    struct bytes version;
    mode_t file_mode;
    int (*fill)(struct worker *worker, struct item *item, int target);
    /* Of `fill`: the host's END of this item was read; whatever else it needs. */
    bool is_read;
    void *context;
};

/* Puts a file at a path below the workspace, parents too. */
int place_file(struct worker *worker, struct bytes given, struct item *item, struct stat *result);

#endif
