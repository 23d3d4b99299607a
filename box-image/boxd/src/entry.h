/* What is told about a file. */
#ifndef BOXD_ENTRY_H
#define BOXD_ENTRY_H

#include <stdbool.h>
#include <sys/stat.h>

#include "wire.h"

enum { MAX_VERSION_BYTES = 112, MAX_ENTRY_BYTES = 24 + 4 + MAX_VERSION_BYTES };

/* kind u8, readable u8, mode u16, links u32, size u64, modified i64 (Unix ms), version string */
void put_entry(struct writer *writer, const struct stat *info);

/* The same only while it is the same file with the same content. */
void format_version(char text[MAX_VERSION_BYTES], const struct stat *info);
/* An empty version means that any will do. */
bool has_version(const struct stat *info, struct bytes wanted);
bool is_same_version(const struct stat *left, const struct stat *right);

#endif
