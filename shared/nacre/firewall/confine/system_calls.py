"""The system calls that a confined server may not make, with their numbers and the reasons.

Landlock governs which files are opened and which TCP ports are reached. Everything here reaches
past it. The numbers are those of x86-64 and of arm64; None means that a machine has no such call.
"""

from typing import NamedTuple


class SystemCall(NamedTuple):
    """A system call and its numbers."""

    name: str
    x86_64: int | None
    arm64: int | None


# The newest call that was looked at. Later ones are answered as if the kernel did not have them.
NEWEST = 469

# Answered with EPERM.
DENIED: dict[str, tuple[SystemCall, ...]] = {
    "reads or changes another process": (
        SystemCall("ptrace", 101, 117),
        SystemCall("process_vm_readv", 310, 270),
        SystemCall("process_vm_writev", 311, 271),
        SystemCall("process_madvise", 440, 440),
        SystemCall("process_mrelease", 448, 448),
        SystemCall("kcmp", 312, 272),
        SystemCall("pidfd_getfd", 438, 438),
        SystemCall("perf_event_open", 298, 241),
        SystemCall("lookup_dcookie", 212, 18),
        SystemCall("migrate_pages", 256, 238),
        SystemCall("move_pages", 279, 239),
    ),
    "changes what is mounted where, or the root folder": (
        SystemCall("mount", 165, 40),
        SystemCall("umount2", 166, 39),
        SystemCall("pivot_root", 155, 41),
        SystemCall("chroot", 161, 51),
        SystemCall("move_mount", 429, 429),
        SystemCall("fsopen", 430, 430),
        SystemCall("fsconfig", 431, 431),
        SystemCall("fsmount", 432, 432),
        SystemCall("fspick", 433, 433),
        SystemCall("open_tree", 428, 428),
        SystemCall("open_tree_attr", 467, 467),
        SystemCall("mount_setattr", 442, 442),
        SystemCall("statmount", 457, 457),
        SystemCall("listmount", 458, 458),
        SystemCall("swapon", 167, 224),
        SystemCall("swapoff", 168, 225),
        SystemCall("quotactl", 179, 60),
        SystemCall("quotactl_fd", 443, 443),
    ),
    "enters or makes a namespace": (
        SystemCall("unshare", 272, 97),
        SystemCall("setns", 308, 268),
    ),
    "kernel keyrings": (
        SystemCall("keyctl", 250, 219),
        SystemCall("add_key", 248, 217),
        SystemCall("request_key", 249, 218),
    ),
    "work that the kernel does past these rules": (
        SystemCall("io_uring_setup", 425, 425),
        SystemCall("io_uring_enter", 426, 426),
        SystemCall("io_uring_register", 427, 427),
        SystemCall("bpf", 321, 280),
        SystemCall("userfaultfd", 323, 282),
    ),
    "files by handle, or watched without being opened": (
        SystemCall("name_to_handle_at", 303, 264),
        SystemCall("open_by_handle_at", 304, 265),
        SystemCall("fanotify_init", 300, 262),
        SystemCall("fanotify_mark", 301, 263),
        SystemCall("inotify_init", 253, None),
        SystemCall("inotify_init1", 294, 26),
        SystemCall("inotify_add_watch", 254, 27),
    ),
    "owners of files, which Landlock leaves alone": (
        SystemCall("chown", 92, None),
        SystemCall("lchown", 94, None),
        SystemCall("fchown", 93, 55),
        SystemCall("fchownat", 260, 54),
    ),
    "device files": (
        SystemCall("mknod", 133, None),
        SystemCall("mknodat", 259, 33),
    ),
    "waiting for connections": (
        SystemCall("bind", 49, 200),
        SystemCall("listen", 50, 201),
        SystemCall("accept", 43, 202),
        SystemCall("accept4", 288, 242),
    ),
    "memory and queues shared by a name": (
        SystemCall("shmget", 29, 194),
        SystemCall("shmat", 30, 196),
        SystemCall("shmctl", 31, 195),
        SystemCall("shmdt", 67, 197),
        SystemCall("semget", 64, 190),
        SystemCall("semop", 65, 193),
        SystemCall("semctl", 66, 191),
        SystemCall("semtimedop", 220, 192),
        SystemCall("msgget", 68, 186),
        SystemCall("msgsnd", 69, 189),
        SystemCall("msgrcv", 70, 188),
        SystemCall("msgctl", 71, 187),
        SystemCall("mq_open", 240, 180),
        SystemCall("mq_unlink", 241, 181),
    ),
    "the machine itself": (
        SystemCall("init_module", 175, 105),
        SystemCall("finit_module", 313, 273),
        SystemCall("delete_module", 176, 106),
        SystemCall("kexec_load", 246, 104),
        SystemCall("kexec_file_load", 320, 294),
        SystemCall("reboot", 169, 142),
        SystemCall("syslog", 103, 116),
        SystemCall("acct", 163, 89),
        SystemCall("settimeofday", 164, 170),
        SystemCall("clock_settime", 227, 112),
        SystemCall("adjtimex", 159, 171),
        SystemCall("clock_adjtime", 305, 266),
        SystemCall("sethostname", 170, 161),
        SystemCall("setdomainname", 171, 162),
        SystemCall("iopl", 172, None),
        SystemCall("ioperm", 173, None),
        SystemCall("modify_ldt", 154, None),
        SystemCall("vhangup", 153, 58),
        SystemCall("uselib", 134, None),
        SystemCall("nfsservctl", 180, 42),
    ),
}

# Attributes of files, also of those outside the rights or only to be read. The answer is ENOTSUP,
# as on a file system without attributes, which programs expect.
UNSUPPORTED = (
    SystemCall("setxattr", 188, 5),
    SystemCall("lsetxattr", 189, 6),
    SystemCall("fsetxattr", 190, 7),
    SystemCall("setxattrat", 463, 463),
    SystemCall("removexattr", 197, 14),
    SystemCall("lremovexattr", 198, 15),
    SystemCall("fremovexattr", 199, 16),
    SystemCall("removexattrat", 466, 466),
    SystemCall("file_setattr", 469, 469),
    SystemCall("getxattr", 191, 8),
    SystemCall("lgetxattr", 192, 9),
    SystemCall("fgetxattr", 193, 10),
    SystemCall("listxattr", 194, 11),
    SystemCall("llistxattr", 195, 12),
    SystemCall("flistxattr", 196, 13),
    SystemCall("getxattrat", 464, 464),
    SystemCall("listxattrat", 465, 465),
    SystemCall("file_getattr", 468, 468),
)

# Modes and times of files, which Landlock leaves alone too: nothing changes, and the answer is
# success, because many programs set both after writing a file and give up otherwise. The launcher
# sets a mask, so that new files are private whatever a program meant to set.
PRETENDED = (
    SystemCall("chmod", 90, None),
    SystemCall("fchmod", 91, 52),
    SystemCall("fchmodat", 268, 53),
    SystemCall("fchmodat2", 452, 452),
    SystemCall("utime", 132, None),
    SystemCall("utimes", 235, None),
    SystemCall("futimesat", 261, None),
    SystemCall("utimensat", 280, 88),
)

# Looked at with their arguments: see `seccomp`.
CLONE = SystemCall("clone", 56, 220)
CLONE3 = SystemCall("clone3", 435, 435)
SOCKET = SystemCall("socket", 41, 198)
SOCKETPAIR = SystemCall("socketpair", 53, 199)
SENDTO = SystemCall("sendto", 44, 206)
SENDMSG = SystemCall("sendmsg", 46, 211)
SENDMMSG = SystemCall("sendmmsg", 307, 269)
SETSOCKOPT = SystemCall("setsockopt", 54, 208)
IOCTL = SystemCall("ioctl", 16, 29)
PRLIMIT64 = SystemCall("prlimit64", 302, 261)
SETPRIORITY = SystemCall("setpriority", 141, 140)
IOPRIO_SET = SystemCall("ioprio_set", 251, 30)
SCHED_SETAFFINITY = SystemCall("sched_setaffinity", 203, 122)
SCHED_SETSCHEDULER = SystemCall("sched_setscheduler", 144, 119)
SCHED_SETPARAM = SystemCall("sched_setparam", 142, 118)
SCHED_SETATTR = SystemCall("sched_setattr", 314, 274)
PERSONALITY = SystemCall("personality", 135, 92)
OPEN = SystemCall("open", 2, None)
OPENAT = SystemCall("openat", 257, 56)
OPENAT2 = SystemCall("openat2", 437, 437)
MEMFD_CREATE = SystemCall("memfd_create", 319, 279)
FCNTL = SystemCall("fcntl", 72, 25)
