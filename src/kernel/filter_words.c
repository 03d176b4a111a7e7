/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's filter in words, for `stockade doctor --syscalls`: what the
 * arguments decide.  filter.c decides; a test sees that both have the same
 * calls.
 */
#include "filter.h"

#include "own.h"
#include "uapi.h"

#define NAMESPACE "EPERM with a flag that makes a namespace"
#define URGENT "EOPNOTSUPP with MSG_OOB"
#define SETUID "EPERM with the set-user-id bit"
#define MAKING "EPERM for making a file with a set-id bit"
#define DEVICE "EPERM for devices, and with a set-id bit"
#define FIRST "EPERM for pid 1"
#define W(call, text) { SYS_##call, text }

/* In the rows, not pointed to: see calls.c. */
static const struct {
	uint16_t nr;
	char text[206];
} words[] = {
	W(clone, NAMESPACE), W(unshare, NAMESPACE),
	W(socket, "local; IPv4 and IPv6 with TCP or UDP; routing netlink; other "
	  "types EPERM, other families EAFNOSUPPORT, multipath TCP and other "
	  "netlink EPROTONOSUPPORT"),
	W(socketpair, "local; other families EAFNOSUPPORT"),
	W(setsockopt, "ENOPROTOOPT for TCP_ULP, UDP_ENCAP, SO_ATTACH_BPF, "
	  "SO_ATTACH_REUSEPORT_EBPF and firewall tables"),
	W(sendto, URGENT), W(recvfrom, URGENT), W(sendmsg, URGENT),
	W(recvmsg, URGENT), W(sendmmsg, URGENT), W(recvmmsg, URGENT),
	W(ioctl, "EPERM for TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS, and for "
	  "making subvolumes of btrfs and bcachefs"),
	W(fcntl, "EPERM for F_SETLEASE and F_SETDELEG"),
	W(prlimit64, FIRST), W(sched_setscheduler, FIRST),
	W(sched_setattr, FIRST), W(sched_setaffinity, FIRST),
	W(setpriority, FIRST),
	W(fchmod, SETUID), W(fchmodat, SETUID), W(fchmodat2, SETUID),
	W(openat, MAKING), W(mknodat, DEVICE),
	W(renameat2, "EPERM with RENAME_WHITEOUT"),
	W(personality, "asking, PER_LINUX, PER_LINUX32, UNAME26 and "
	  "ADDR_NO_RANDOMIZE; else EPERM"),
	W(prctl, "EPERM for PR_SET_MM, PR_SCHED_CORE, PR_SET_MEMORY_MERGE, "
	  "PR_MCE_KILL and PR_SET_IO_FLUSHER"),
#ifdef __x86_64__
	W(chmod, SETUID), W(open, MAKING), W(mknod, DEVICE),
	W(creat, "EPERM with a set-id bit"),
#endif
};

const char *filter_words(uint32_t nr)
{
	for (size_t i = 0; i < countof(words); i++)
		if (words[i].nr == nr)
			return words[i].text;
	return NULL;
}
