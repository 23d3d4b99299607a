/* Ways to a file that no link can lead astray: from a held descriptor of the workspace downwards. */
#ifndef BOXD_FILES_OPEN_H
#define BOXD_FILES_OPEN_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "wire.h"

enum { MAX_PATH_BYTES = 4096, MAX_NAME_BYTES = 255 };

struct root {
    int fd;
    dev_t device;
    /* Whether the kernel resolves a path in one call; otherwise we walk. Same answers either way. */
    bool has_openat2;
};

/* Holds the workspace; paths are walked. @returns 0 or an errno */
int root_open(struct root *root, const char *place);
/* Makes a held workspace ready for requests, even one that its box shut. @param is_walking leaves openat2 aside */
void root_serve(struct root *root, bool is_walking);
/* Gives our user its rights on a held directory of its own back; other bits, other owners and other kinds stay. */
void regain(int held);

/* A path of the host, relative to the workspace: `parent` without its last component, and that as `name`. */
struct path {
    char text[MAX_PATH_BYTES + 1];
    const char *parent;
    /* Empty for the workspace itself. */
    const char *name;
};

/* All functions below return 0 or an errno (faults.h). */
int path_parse(struct path *path, struct bytes given);

/* What to do about a directory on the way that is not there. */
enum stride {
    STRIDE_EXISTING,
    STRIDE_MAKE,
    /*
     * Makes it, and removes what stands in its place without being a directory: a box may have put a link there. On
     * every directory of the way, the workspace itself too, our user regains its rights.
     */
    STRIDE_CLEAR,
};

/* Holds (O_PATH) the directory `relative`; the caller closes it. */
int open_directory(const struct root *root, const char *relative, enum stride stride, int *held);
/* Holds an entry of `parent` without any effect on it and without following a link. */
int peek(int parent, const char *name, int *held, struct stat *info);
/* Holds one directory below `parent`. */
int step(const struct root *root, int parent, const char *name, int *held);
/* A working descriptor of exactly the entry that a held one means. */
int reopen(int held, int flags, int *opened);
/* Random bytes for a name that nobody can foresee. */
int hidden_name(char *name, size_t size, const char *ending);

#endif
