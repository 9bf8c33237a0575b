#include "shm/link.hpp"

namespace godwit::shm {
namespace {

// For the cost models of protocols until somebody measures: a cache line between two cores, one core's memcpy, a
// system call.
constexpr double message_latency_s = 100e-9;
constexpr double copy_bandwidth_Bps = 10e9;
constexpr double system_call_s = 1e-6;

constexpr std::size_t largest_rdma = 8 << 20;  // protocols progress in between

RingPlace ring_place(const core::SharedMemory& memory, std::size_t ring_bytes, int direction) {
  auto* control = reinterpret_cast<LinkControl*>(memory.data());
  return {memory.data() + rings_offset + static_cast<std::size_t>(direction) * ring_bytes, ring_bytes,
          &control->cursor[direction].consumed};
}

}  // namespace

void Link::open(LinkReady ready) {
  peer = {ready.peer, ready.host, ready.pid};
  memory = std::move(ready.memory);
  ring_bytes = ready.ring_bytes;
  const int outgoing = ready.connected_by_us ? 0 : 1;
  out = RingWriter(ring_place(memory, ring_bytes, outgoing));
  in = RingReader(ring_place(memory, ring_bytes, 1 - outgoing));
  bell = std::move(ready.bell);
  remote.set_cma(std::move(ready.cma));
  capabilities = {.max_message = ready.max_message,
                  .max_inline = ready.max_message - sizeof(core::WireHeader),
                  .max_rdma = largest_rdma,
                  .rma = true,
                  .private_rma = remote.cma().works(),
                  .put_notify = true,
                  .put_done = core::PutDone::remote,
                  .atomics = core::AtomicsDomain::cpu,
                  .latency_s = message_latency_s,
                  .bandwidth_Bps = copy_bandwidth_Bps,
                  .rma_overhead_s = system_call_s};
  state = State::open;
}

}  // namespace godwit::shm
