/**
 * The boxes' own system-call allowlist (security §4): what shells, compilers, Python, Node and file tools need. Left out is
 * what attacks the kernel and no box needs: io_uring, userfaultfd, bpf, keyrings, ptrace, vsock, raw netlink, the mount
 * interface, new namespaces, perf, modules, quotas, file handles.
 */

const ALLOWED = {
  files: `access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
    fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr
    fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat mkdir
    mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead
    readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr splice stat statfs statx symlink
    symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev`,
  memory: `brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall
    munmap pkey_alloc pkey_free pkey_mprotect remap_file_pages shmat shmctl shmdt shmget`,
  processes: `arch_prctl capget capset execve execveat exit exit_group fork getegid geteuid getgid getgroups getpgid getpgrp
    getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill
    landlock_add_rule landlock_create_ruleset landlock_restrict_self pause pidfd_open pidfd_send_signal prctl prlimit64
    process_mrelease restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
    rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setfsgid setfsuid setgid setgroups setpgid setpriority setregid
    setresgid setresuid setreuid setrlimit setsid set_tid_address setuid sigaltstack tgkill tkill vfork wait4 waitid`,
  scheduling: `futex futex_waitv getcpu get_robust_list get_thread_area sched_getaffinity sched_getattr sched_getparam
    sched_get_priority_max sched_get_priority_min sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
    sched_setparam sched_setscheduler sched_yield set_robust_list`,
  time: `adjtimex alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time timer_create
    timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times`,
  waiting: `epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 io_cancel io_destroy
    io_getevents io_pgetevents io_setup io_submit pipe pipe2 poll ppoll pselect6 select signalfd signalfd4`,
  sockets: `accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
    sendto setsockopt shutdown socketpair`,
  queues: `mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget
    semop semtimedop`,
  machine: "getrandom sysinfo uname",
} as const;

type Comparison = "SCMP_CMP_EQ" | "SCMP_CMP_NE" | "SCMP_CMP_MASKED_EQ";

interface ArgumentRule {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: Comparison;
}

interface CallRule {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  readonly errnoRet?: number;
  readonly args?: readonly ArgumentRule[];
}

/** Masks every CLONE_NEW* flag. */
const NEW_NAMESPACES = 0x7e020000;
const PERSONALITIES = [0x0, 0x8, 0x20000, 0x20008, 0xffffffff];
/** AF_UNIX, AF_INET, AF_INET6. */
const FAMILIES = [1, 2, 10];
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
/** Types into another process's terminal. */
const TIOCSTI = 0x5412;
const ENOSYS = 38;

/** The profile in the engine's format; passed as JSON text. */
export function makeSeccompProfile(): object {
  const syscalls: CallRule[] = [
    allow(Object.values(ALLOWED).flatMap((names) => names.split(/\s+/u))),
    allow(["clone"], { index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }),
    // "Not there" makes libraries use what they used before; "not permitted" would be a failure.
    {
      names: ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"],
      action: "SCMP_ACT_ERRNO",
      errnoRet: ENOSYS,
    },
    ...PERSONALITIES.map((value) => allow(["personality"], equal(0, value))),
    ...FAMILIES.map((family) => allow(["socket"], equal(0, family))),
    allow(["socket"], equal(0, AF_NETLINK), equal(2, NETLINK_ROUTE)),
    allow(["ioctl"], { index: 1, value: TIOCSTI, op: "SCMP_CMP_NE" }),
  ];
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
    syscalls,
  };
}

function equal(index: number, value: number): ArgumentRule {
  return { index, value, op: "SCMP_CMP_EQ" };
}

function allow(names: readonly string[], ...args: readonly ArgumentRule[]): CallRule {
  return { names, action: "SCMP_ACT_ALLOW", ...(args.length > 0 ? { args } : {}) };
}
