/*
 * udp-load: datagrams at a steady rate, and the other end that counts them.
 *
 *   udp-load send ADDRESS[,ADDRESS...] PORT PPS|max|segmented SIZE FLOWS BURST SECONDS
 *   udp-load receive PORT SECONDS
 *   udp-load hold PORT SECONDS
 *
 * The sender paces against CLOCK_MONOTONIC in bursts of BURST datagrams, one sendmmsg each; a flow
 * is a source port, FLOWS of them to each address, which take turns burst by burst. Where it falls
 * behind it does not catch up by more than one burst, so that a slow path shows as a lower rate and
 * not as a flood; max is as fast as it goes, and segmented as well, with a burst handed to the kernel
 * as one large datagram (UDP_SEGMENT) that is cut up where it is received: the sender's CPU has little
 * to do, the receiver's is flooded. iperf3 sends a datagram a system call, which on the
 * machine this was written on ends at half the rate that sendmmsg reaches. The receiver looks every
 * 2 ms instead of waiting, or each datagram would wake it: those wake-ups would be its cost, and they
 * would be taken from whoever runs where the packet arrives. Both ends stop by themselves; a receiver
 * that is told to stop first takes what has arrived. Hold has the port and takes nothing: datagrams are
 * dropped when the socket's buffer is full, and cost their receiver no CPU time.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_BURST = 64,
	MAX_FLOWS = 64,
	MAX_ADDRESSES = 8,
	MAX_SIZE = 65507,
	DRAIN_EVERY_NS = 2000000,
	LAST_DRAIN_NS = 50000000
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
	(void)signal_number;
	stopped = 1;
}

static void fail(const char *what)
{
	fprintf(stderr, "udp-load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static double number(const char *text, double least, double most)
{
	char *rest;
	double value = strtod(text, &rest);

	if (*text == '\0' || *rest != '\0' || !(value >= least && value <= most)) {
		fprintf(stderr, "udp-load: %s is not a number from %g to %g\n", text, least, most);
		exit(2);
	}
	return value;
}

/* pps 0: as fast as it goes. */
static int send_load(const struct sockaddr_in *to, int addresses, double pps, int segmented, size_t size, int flows,
		     int per_burst, double seconds)
{
	static char payload[MAX_SIZE];
	struct iovec data = { .iov_base = payload, .iov_len = size };
	struct mmsghdr burst[MAX_BURST] = { 0 };
	int sockets[MAX_FLOWS * MAX_ADDRESSES], flow = 0, all = flows * addresses;
	long long sent = 0, refused = 0, started, due, interval, end;

	if (segmented)
		data.iov_len = size * (size_t)per_burst;
	if (data.iov_len > MAX_SIZE) {
		fprintf(stderr, "udp-load: %d times %zu bytes are more than a datagram holds\n", per_burst, size);
		return 2;
	}
	for (int i = 0; i < per_burst; i++) {
		burst[i].msg_hdr.msg_iov = &data;
		burst[i].msg_hdr.msg_iovlen = 1;
	}
	for (int i = 0; i < all; i++) {
		sockets[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (sockets[i] < 0 || connect(sockets[i], (const struct sockaddr *)&to[i % addresses], sizeof *to) < 0)
			fail("connect");
		if (segmented && setsockopt(sockets[i], IPPROTO_UDP, UDP_SEGMENT, &(int){ (int)size }, sizeof(int)) < 0)
			fail("UDP_SEGMENT");
	}

	/* Timers may be late by 50 us otherwise, a quarter of the interval. */
	prctl(PR_SET_TIMERSLACK, 1UL);
	interval = pps > 0 ? (long long)(per_burst * 1e9 / pps) : 0;
	started = due = monotonic_ns();
	end = started + (long long)(seconds * 1e9);
	while (!stopped && due < end) {
		struct timespec until = { due / 1000000000LL, due % 1000000000LL };
		long long now;
		int count;

		if (interval > 0)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		count = sendmmsg(sockets[flow], burst, segmented ? 1 : (unsigned int)per_burst, 0);
		if (count > 0)
			sent += segmented ? per_burst : count;
		else if (errno == ECONNREFUSED || errno == ENOBUFS || errno == EAGAIN)
			refused++;
		else if (errno != EINTR)
			fail("sendmmsg");
		flow = (flow + 1) % all;
		due += interval;
		now = monotonic_ns();
		if (due < now - interval)
			due = now - interval;
	}
	seconds = (double)(monotonic_ns() - started) / 1e9;
	printf("sent %lld datagrams of %zu bytes, %d at a time in %d flows, in %.3f s: %.0f/s", sent, size, per_burst, all,
	       seconds, (double)sent / seconds);
	if (pps > 0)
		printf(" of the %.0f/s asked", pps);
	else
		printf(", the most this sender sends here");
	printf("; %lld bursts refused\n", refused);
	return 0;
}

static int bound(const struct sockaddr_in *at)
{
	int wanted = 4 << 20, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)at, sizeof *at) < 0)
		fail("bind");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof wanted);
	return fd;
}

static int hold(const struct sockaddr_in *at, double seconds)
{
	struct timespec left = { (time_t)seconds, 0 };

	bound(at);
	if (!stopped)
		nanosleep(&left, NULL);
	return 0;
}

static int receive_load(const struct sockaddr_in *at, double seconds)
{
	static char payload[MAX_BURST][2048];
	struct iovec data[MAX_BURST];
	struct mmsghdr burst[MAX_BURST] = { 0 };
	long long received = 0, end = monotonic_ns() + (long long)(seconds * 1e9);
	int fd = bound(at);

	for (int i = 0; i < MAX_BURST; i++) {
		data[i].iov_base = payload[i];
		data[i].iov_len = sizeof payload[i];
		burst[i].msg_hdr.msg_iov = &data[i];
		burst[i].msg_hdr.msg_iovlen = 1;
	}
	while (!stopped && monotonic_ns() < end) {
		struct timespec pause = { 0, DRAIN_EVERY_NS };
		int count;

		while ((count = recvmmsg(fd, burst, MAX_BURST, MSG_DONTWAIT, NULL)) > 0)
			received += count;
		nanosleep(&pause, NULL);
	}
	nanosleep(&(struct timespec){ 0, LAST_DRAIN_NS }, NULL);
	for (int count; (count = recvmmsg(fd, burst, MAX_BURST, MSG_DONTWAIT, NULL)) > 0;)
		received += count;
	printf("received %lld datagrams\n", received);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET }, to[MAX_ADDRESSES];
	struct sigaction on_signal = { .sa_handler = stop };

	sigaction(SIGTERM, &on_signal, NULL);
	sigaction(SIGINT, &on_signal, NULL);
	if (argc == 9 && !strcmp(argv[1], "send")) {
		int addresses = 0, segmented = !strcmp(argv[4], "segmented");
		double pps = segmented || !strcmp(argv[4], "max") ? 0 : number(argv[4], 1, 1e7);

		address.sin_port = htons((unsigned short)number(argv[3], 1, 65535));
		for (char *word = strtok(argv[2], ","); word; word = strtok(NULL, ",")) {
			if (addresses == MAX_ADDRESSES || inet_pton(AF_INET, word, &address.sin_addr) != 1) {
				fprintf(stderr, "udp-load: %s is no IPv4 address, or the %dth\n", word, MAX_ADDRESSES + 1);
				return 2;
			}
			to[addresses++] = address;
		}
		if (addresses > 0)
			return send_load(to, addresses, pps, segmented, (size_t)number(argv[5], 1, MAX_SIZE),
					 (int)number(argv[6], 1, MAX_FLOWS), (int)number(argv[7], 1, MAX_BURST),
					 number(argv[8], 0.001, 86400));
	}
	if (argc == 4 && (!strcmp(argv[1], "receive") || !strcmp(argv[1], "hold"))) {
		address.sin_port = htons((unsigned short)number(argv[2], 1, 65535));
		return (*argv[1] == 'r' ? receive_load : hold)(&address, number(argv[3], 0.001, 86400));
	}
	fprintf(stderr, "usage: udp-load send ADDRESS[,ADDRESS...] PORT PPS|max|segmented SIZE FLOWS BURST SECONDS\n"
			"       udp-load receive|hold PORT SECONDS\n");
	return 2;
}
