#include "shm/link.hpp"

namespace godwit::shm {
namespace {

// For the cost models of protocols, as seen on several machines: a line between two cores with the engine around it,
// and a copy of lines that the other core has written. What a system call costs differs by a factor of ten between
// hosts, so that is measured.
constexpr double message_latency_s = 200e-9;
constexpr double copy_bandwidth_Bps = 8e9;

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
  auto* control = reinterpret_cast<LinkControl*>(memory.data());
  joint.open(control->board[outgoing], control->board[1 - outgoing]);
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
                  .rma_overhead_s = Cma::overhead_s()};
  state = State::open;
}

}  // namespace godwit::shm
