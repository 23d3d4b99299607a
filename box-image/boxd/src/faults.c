#include "faults.h"

const char *fault_word(int error, const char *otherwise)
{
    switch (error) {
    case ENOENT:
        return "not_found";
    case ENOTDIR:
        return "not_directory";
    case ELOOP:
        return "symlink_component";
    case EEXIST:
        return "exists";
    case FAULT_NOT_REGULAR:
        return "not_regular";
    case FAULT_ESCAPES:
        return "escapes";
    case FAULT_BAD_PATH:
    case ENAMETOOLONG:
        return "bad_path";
    case FAULT_CHANGED:
    case ENOTEMPTY:
        return "changed";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return "no_space";
    case FAULT_SIZE:
        return "size_mismatch";
    case FAULT_BAD_ARCHIVE:
        return "bad_archive";
    case FAULT_TOO_LARGE:
        return "too_large";
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return "busy";
    default:
        return otherwise;
    }
}
