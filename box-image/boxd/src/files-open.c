#define _GNU_SOURCE
#include "files-open.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "sys.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* From the kernel's interface; the C library's headers may be older than that. */
struct open_how_v0 {
    uint64_t flags, mode, resolve;
};
enum { NO_XDEV = 0x01, NO_MAGICLINKS = 0x02, NO_SYMLINKS = 0x04, BENEATH = 0x08 };

static int open_beneath(int directory, const char *relative)
{
    struct open_how_v0 how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = NO_XDEV | NO_MAGICLINKS | NO_SYMLINKS | BENEATH,
    };
    return (int)syscall(SYS_openat2, directory, *relative == 0 ? "." : relative, &how, sizeof how);
}

int root_open(struct root *root, const char *place)
{
    struct stat info;
    root->fd = open(place, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root->fd < 0 || fstat(root->fd, &info) < 0)
        return errno;
    root->device = info.st_dev;
    root->has_openat2 = false;
    return 0;
}

void root_serve(struct root *root, bool is_walking)
{
    /* Without the right to enter it, the probe would say nothing about the kernel. */
    regain(root->fd);
    int probe = is_walking ? -1 : open_beneath(root->fd, "");
    root->has_openat2 = probe >= 0;
    close_fd(&probe);
}

void regain(int held)
{
    struct stat info;
    char link[32];
    if (fstat(held, &info) < 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & S_IRWXU) == S_IRWXU)
        return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", held);
    /* Where this is refused, what comes next is refused too and is told. */
    if (chmod(link, (info.st_mode & 07777) | S_IRWXU) < 0)
        errno = 0;
}

static int check_component(const char *name, size_t length)
{
    if (length == 0 || (length == 1 && name[0] == '.'))
        return FAULT_BAD_PATH;
    if (length == 2 && name[0] == '.' && name[1] == '.')
        return FAULT_ESCAPES;
    return length > MAX_NAME_BYTES ? FAULT_BAD_PATH : 0;
}

int path_parse(struct path *path, struct bytes given)
{
    path->parent = path->name = path->text;
    path->text[0] = 0;
    if (given.length == 0)
        return 0;
    if (given.length > MAX_PATH_BYTES)
        return FAULT_BAD_PATH;
    memcpy(path->text, given.at, given.length);
    path->text[given.length] = 0;
    for (char *part = path->text;;) {
        size_t length = strcspn(part, "/");
        int error = check_component(part, length);
        if (error != 0)
            return error;
        path->name = part;
        if (part[length] == 0)
            break;
        part += length + 1;
    }
    if (path->name == path->text) {
        path->parent = "";
        return 0;
    }
    path->text[path->name - path->text - 1] = 0;
    return 0;
}

int peek(int parent, const char *name, int *held, struct stat *info)
{
    *held = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (*held < 0)
        return errno;
    if (fstat(*held, info) == 0)
        return 0;
    int error = errno;
    close_fd(held);
    return error;
}

int step(const struct root *root, int parent, const char *name, int *held)
{
    struct stat info;
    int error = peek(parent, name, held, &info);
    if (error != 0)
        return error;
    if (S_ISLNK(info.st_mode))
        error = ELOOP;
    else if (!S_ISDIR(info.st_mode))
        error = ENOTDIR;
    else if (info.st_dev != root->device)
        error = FAULT_ESCAPES;
    if (error != 0)
        close_fd(held);
    return error;
}

static int make_step(const struct root *root, int parent, const char *name, int *held)
{
    int error = step(root, parent, name, held);
    if (error != ENOENT)
        return error;
    if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)
        return errno;
    return step(root, parent, name, held);
}

static int take_step(const struct root *root, int parent, const char *name, enum stride stride, int *held)
{
    if (stride == STRIDE_EXISTING)
        return step(root, parent, name, held);
    int error = make_step(root, parent, name, held);
    if (stride == STRIDE_CLEAR && (error == ELOOP || error == ENOTDIR)) {
        if (unlinkat(parent, name, 0) < 0)
            return errno;
        error = make_step(root, parent, name, held);
    }
    if (stride == STRIDE_CLEAR && error == 0)
        regain(*held);
    return error;
}

static int walk(const struct root *root, const char *relative, enum stride stride, int *held)
{
    int error = 0;
    if (stride == STRIDE_CLEAR)
        regain(root->fd);
    *held = openat(root->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*held < 0)
        return errno;
    for (const char *part = relative; *part != 0 && error == 0;) {
        char name[MAX_NAME_BYTES + 1];
        size_t length = strcspn(part, "/");
        if (length > MAX_NAME_BYTES) {
            error = FAULT_BAD_PATH;
            break;
        }
        memcpy(name, part, length);
        name[length] = 0;
        int below = -1;
        error = take_step(root, *held, name, stride, &below);
        close_fd(held);
        *held = below;
        part += length + (part[length] == '/');
    }
    if (error != 0)
        close_fd(held);
    return error;
}

int open_directory(const struct root *root, const char *relative, enum stride stride, int *held)
{
    if (stride == STRIDE_EXISTING && root->has_openat2 && strlen(relative) < MAX_PATH_BYTES) {
        *held = open_beneath(root->fd, relative);
        if (*held >= 0)
            return 0;
        /* The kernel gives up when somebody renames on the way; the walk does not. */
        if (errno != EAGAIN)
            return errno;
    }
    return walk(root, relative, stride, held);
}

int reopen(int held, int flags, int *opened)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", held);
    *opened = open(link, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return *opened < 0 ? errno : 0;
}

int hidden_name(char *name, size_t size, const char *ending)
{
    uint64_t words[2];
    if (getrandom(words, sizeof words, 0) != (ssize_t)sizeof words)
        return EIO;
    snprintf(name, size, ".berth-%016llx%016llx%s", (unsigned long long)words[0],
             (unsigned long long)words[1], ending);
    return 0;
}
