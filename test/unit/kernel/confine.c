/* SPDX-License-Identifier: Apache-2.0 */
#include "confine.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "own.h"
#include "tap.h"

static enum confine_role role;
static int pair[2];

/* What every helper does all the time. */
static int work(void)
{
	char byte;
	struct epoll_event event;
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	void *memory;

	NEED(epoll_fd >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	NEED(confine_helper(role, &child_err) == 0);
	memory = malloc(1 << 20);
	NEED(memory);
	free(memory);
	NEED(send(pair[0], "x", 1, MSG_NOSIGNAL) == 1);
	event = (struct epoll_event){ .events = EPOLLIN };
	NEED(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pair[1], &event) == 0);
	NEED(epoll_wait(epoll_fd, &event, 1, 1000) == 1);
	NEED(recv(pair[1], &byte, 1, 0) == 1);
	NEED(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
	NEED(open("/root", O_RDONLY) < 0);
	NEED(open("/tmp/confined", O_CREAT | O_WRONLY, 0600) < 0);
	NEED(close(pair[0]) == 0);
	return CHILD_OK;
}

static void test_every_role_can_work(void)
{
	for (role = CONFINE_EDGE; role < CONFINE_ROLES; role++)
		CHECK_INT(child_run(work), CHILD_OK);
}

static void (*deed)(void);

static int attempt(void)
{
	NEED(confine_helper(role, &child_err) == 0);
	deed();
	return CHILD_OK;
}

static void make_socket(void) { (void)socket(AF_INET, SOCK_STREAM, 0); }
static void make_pair(void) { (void)socketpair(AF_UNIX, SOCK_STREAM, 0, pair); }
static void execute(void) { (void)execl("/bin/true", "true", NULL); }
static void fork_off(void) { (void)vfork(); }
static void signal_parent(void) { (void)kill(getppid(), 0); }
static void map_code(void)
{
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static void make_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static void test_fileless_roles_die_of_what_they_may_not(void)
{
	void (*const deeds[])(void) = {
		make_socket, make_pair, execute, map_code, make_code,
	};

	for (role = CONFINE_EDGE; role <= CONFINE_DIAL; role++)
		for (size_t i = 0; i < countof(deeds); i++) {
			deed = deeds[i];
			CHECK_INT(child_run(attempt), CHILD_KILLED);
		}
}

static void test_resolve_dies_of_code_and_processes(void)
{
	void (*const deeds[])(void) = {
		execute, map_code, make_code, fork_off,
#ifndef STOCKADE_SANITIZED
		signal_parent,
#endif
	};

	role = CONFINE_RESOLVE;
	for (size_t i = 0; i < countof(deeds); i++) {
		deed = deeds[i];
		CHECK_INT(child_run(attempt), CHILD_KILLED);
	}
	deed = signal_parent;
	CHECK(deed);
}

static void *look_up(void *found)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;

	if (getaddrinfo("localhost", "80", &hints, &list) == 0 && list)
		*(bool *)found = true;
	if (list)
		freeaddrinfo(list);
	return NULL;
}

static int resolve(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(1) };
	bool found = false;
	pthread_t thread;
	int fd;

	NEED(confine_helper(CONFINE_RESOLVE, &child_err) == 0);
	NEED(pthread_create(&thread, NULL, look_up, &found) == 0);
	NEED(pthread_join(thread, NULL) == 0);
	NEED(found);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEED(fd >= 0);
	NEED(connect(fd, (struct sockaddr *)&to, sizeof to) < 0 &&
	     (errno == ECONNREFUSED || errno == EINPROGRESS ||
	      errno == ENETUNREACH));
	NEED(socket(AF_PACKET, SOCK_RAW, 0) < 0);
	NEED(open("/etc/hosts", O_RDONLY) >= 0);
	NEED(open("/etc/hosts", O_RDWR) < 0 && errno == EACCES);
	NEED(open("/proc/self/environ", O_RDONLY) < 0);
	NEED(open("/root", O_RDONLY) < 0);
	return CHILD_OK;
}

static void test_resolve_looks_up_and_connects(void)
{
	CHECK_INT(child_run(resolve), CHILD_OK);
}

static int posture(void)
{
	struct rlimit core;
	bool root = child_is_root();

	NEED(getrlimit(RLIMIT_CORE, &core) == 0);
	NEED(confine_helper(CONFINE_RESOLVE, &child_err) == 0);
	NEED(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0);
	if (root) {
		NEED(getuid() == 65534 && geteuid() == 65534);
		NEED(open("/etc/shadow", O_RDONLY) < 0);
	}
	return CHILD_OK;
}

static void test_posture_no_root_no_core(void)
{
	CHECK_INT(child_run(posture), CHILD_OK);
}

enum { THREADS = 3 };
static int ready_pipe[2], hold_pipe[2];

/* For ever: to begin and to end, a thread makes calls that not every helper
 * has. */
static void *stay(void *unused)
{
	char byte = 0;

	(void)!write(pair[0], &byte, 1);
	(void)!read(pair[0], &byte, 1);
	return unused;
}

/* Threads that are there already when the helper confines itself. */
static int be_many(void)
{
	pthread_t thread;
	char byte;

	NEED(close(hold_pipe[1]) == 0);
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (int i = 0; i < THREADS; i++)
		NEED(pthread_create(&thread, NULL, stay, NULL) == 0 &&
		     read(pair[1], &byte, 1) == 1);
	NEED(confine_helper(role, &child_err) == 0);
	NEED(write(ready_pipe[1], "x", 1) == 1);
	(void)!read(hold_pipe[0], &byte, 1);
	return CHILD_OK;
}

/* Of the threads of pid: how many there are, and how many have a filter. */
static void count_threads(pid_t pid, int *all, int *filtered)
{
	char path[64], line[256];
	auto_dir DIR *tasks = NULL;
	const struct dirent *task;

	(void)snprintf(path, sizeof path, "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks && (task = readdir(tasks))) {
		FILE *status;

		if (task->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/status",
			       pid, task->d_name);
		status = fopen(path, "re");
		*all += 1;
		while (status && fgets(line, sizeof line, status))
			*filtered += strcmp(line, "Seccomp:\t2\n") == 0;
		if (status)
			(void)fclose(status);
	}
}

/* Also where the kernel would take a filter for the calling thread alone. */
static void test_every_thread_has_the_filter(void)
{
	for (role = CONFINE_EDGE; role < CONFINE_ROLES; role++) {
		int all = 0, filtered = 0, status;
		char byte;
		pid_t pid;

		if (pipe(ready_pipe) < 0 || pipe(hold_pipe) < 0) {
			CHECK(false);
			return;
		}
		(void)fflush(stdout);
		pid = fork();
		if (pid == 0)
			_exit(be_many());
		(void)close(ready_pipe[1]);
		CHECK(read(ready_pipe[0], &byte, 1) == 1);
		count_threads(pid, &all, &filtered);
		CHECK_INT(all, THREADS + 1);
		CHECK_INT(filtered, all);
		(void)close(ready_pipe[0]);
		(void)close(hold_pipe[0]);
		(void)close(hold_pipe[1]);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static void test_unknown_role_is_refused(void)
{
	struct err e;

	CHECK_INT(confine_helper(CONFINE_NONE, &e), -1);
	CHECK_INT(confine_helper(CONFINE_ROLES, &e), -1);
	CHECK(!confine_filter(CONFINE_NONE));
}

int main(void)
{
	RUN(test_every_role_can_work);
	RUN(test_fileless_roles_die_of_what_they_may_not);
	RUN(test_resolve_dies_of_code_and_processes);
	RUN(test_resolve_looks_up_and_connects);
	RUN(test_posture_no_root_no_core);
	RUN(test_every_thread_has_the_filter);
	RUN(test_unknown_role_is_refused);
	return tap_done();
}
