/*
 * xdp-forward: sends each frame on by its destination address, without the network stack.
 *
 *   clang -O2 -g -target bpf -DPORTS='PORT(1, 0x02, 0x00, ...) PORT(2, ...)' -c xdp-forward.c
 *   ip link set dev DEV xdp object xdp-forward.o section xdp
 *
 * PORTS is the forwarding table, PORT(IFINDEX, six bytes of a MAC address) for each destination: compiled
 * in, where a real forwarder looks them up in a map that it can change. What is not in the table goes
 * the usual way, through the stack. No header of libbpf is needed.
 */
#include <linux/bpf.h>

#define SECTION(name) __attribute__((section(name), used))

static long (*const redirect)(__u32 ifindex, __u64 flags) = (void *)BPF_FUNC_redirect;

static __always_inline int is(const unsigned char *address, const unsigned char *other)
{
	for (int i = 0; i < 6; i++)
		if (address[i] != other[i])
			return 0;
	return 1;
}

SECTION("xdp") int forward(struct xdp_md *context)
{
	const unsigned char *frame = (void *)(long)context->data;

	if (frame + 14 > (const unsigned char *)(long)context->data_end)
		return XDP_DROP;
#define PORT(ifindex, ...)                               \
	if (is(frame, (const unsigned char[]){ __VA_ARGS__ })) \
		return (int)redirect(ifindex, 0);
	PORTS
	return XDP_PASS;
}

SECTION("license") char terms[] = "Apache-2.0";
