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

#endif
