#define _GNU_SOURCE
#include "entry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"

static uint8_t kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return KIND_FILE;
    if (S_ISDIR(mode))
        return KIND_DIRECTORY;
    return S_ISLNK(mode) ? KIND_LINK : KIND_OTHER;
}

static bool is_readable(const struct stat *info)
{
    if (info->st_uid == geteuid())
        return (info->st_mode & S_IRUSR) != 0;
    return (info->st_mode & (info->st_gid == getegid() ? S_IRGRP : S_IROTH)) != 0;
}

void put_entry(struct writer *writer, const struct stat *info)
{
    char version[MAX_VERSION_BYTES];
    format_version(version, info);
    put_u8(writer, kind_of(info->st_mode));
    put_u8(writer, is_readable(info));
    put_u16(writer, info->st_mode & 07777);
    put_u32(writer, (uint32_t)info->st_nlink);
    put_u64(writer, (uint64_t)info->st_size);
    put_u64(writer, (uint64_t)info->st_mtim.tv_sec * 1000u + (uint64_t)(info->st_mtim.tv_nsec / 1000000));
    put_text(writer, version);
}

/* Nanoseconds since 1970 as decimal text; years before and far away wrap, which is still the same text for the same time. */
static int format_time(char *text, size_t size, const struct timespec *time)
{
    if (time->tv_sec > 0)
        return snprintf(text, size, ".%lld%09ld", (long long)time->tv_sec, time->tv_nsec);
    uint64_t ns = (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
    return snprintf(text, size, ".%lld", (long long)ns);
}

void format_version(char text[MAX_VERSION_BYTES], const struct stat *info)
{
    int length = snprintf(text, MAX_VERSION_BYTES, "%llu.%llu.%lld", (unsigned long long)info->st_dev,
                          (unsigned long long)info->st_ino, (long long)info->st_size);
    length += format_time(text + length, MAX_VERSION_BYTES - (size_t)length, &info->st_mtim);
    format_time(text + length, MAX_VERSION_BYTES - (size_t)length, &info->st_ctim);
}

bool has_version(const struct stat *info, struct bytes wanted)
{
    char version[MAX_VERSION_BYTES];
    if (wanted.length == 0)
        return true;
    format_version(version, info);
    return strlen(version) == wanted.length && memcmp(version, wanted.at, wanted.length) == 0;
}

bool is_same_version(const struct stat *left, const struct stat *right)
{
    return left->st_dev == right->st_dev && left->st_ino == right->st_ino && left->st_size == right->st_size &&
           left->st_mtim.tv_sec == right->st_mtim.tv_sec && left->st_mtim.tv_nsec == right->st_mtim.tv_nsec &&
           left->st_ctim.tv_sec == right->st_ctim.tv_sec && left->st_ctim.tv_nsec == right->st_ctim.tv_nsec;
}
