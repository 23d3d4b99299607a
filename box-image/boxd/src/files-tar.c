#include "faults.h"
#include "files.h"

int tar_out(struct worker *worker, struct reader *request)
{
    (void)request;
    return tell_fault(worker, INDEX_WHOLE, "unsupported");
}

int tar_in(struct worker *worker, struct reader *request)
{
    (void)request;
    return tell_fault(worker, INDEX_WHOLE, "unsupported");
}
