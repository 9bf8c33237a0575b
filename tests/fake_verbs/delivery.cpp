// The wire: a request reaches its peer (deliver_next), later its sender learns of it (acknowledge_next).
#include "fake_verbs/execution.hpp"
#include "fake_verbs/world.hpp"

namespace godwit::fake_verbs {
namespace {

bool is_fetch(const SendRequest& request) {
  return request.opcode == IBV_WR_RDMA_READ || request.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
         request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/// A fence waits for earlier reads and atomics; a read, for one of its responder's resources.
bool waits_for_fetches(QueuePair& pair, const SendRequest& request) {
  if (pair.done >= pair.sent || (!request.fenced && !is_fetch(request))) return false;
  unsigned fetches = 0;
  for (std::uint64_t i = pair.done; i < pair.sent; ++i) fetches += is_fetch(pair.request(i)) ? 1 : 0;
  return request.fenced ? fetches > 0 : fetches >= pair.attributes.max_rd_atomic;
}

void delivered(World& world, QueuePair& pair, SendRequest& request, ibv_wc_status status) {
  if (pair.condition != IBV_QPS_RTS) return;  // it failed meanwhile, flushed, because peer or queue are its own
  if (status == IBV_WC_SUCCESS) status = request.forced;
  ++pair.sent;
  if (pair.device->is_iwarp() && !is_fetch(request)) {  // completed long ago: the error has no way back
    pair.silent = status != IBV_WC_SUCCESS;
    return;
  }
  request.status = status;
  request.order = world.next_order++;
  pair.failing = status != IBV_WC_SUCCESS;
}

/// A link on the way drops packets that are larger than its MTU.
bool loses_packets(const QueuePair& pair, std::size_t bytes) {
  return bytes > pair.largest_packet &&
         (128U << static_cast<unsigned>(pair.attributes.path_mtu)) > pair.largest_packet && !pair.device->is_iwarp();
}

/// Nothing comes back: after the retries an error, on iWARP silence.
void unreachable(World& world, QueuePair& pair) {
  if (pair.device->is_iwarp()) {
    pair.silent = true;
    return;
  }
  const bool endless =
      pair.attributes.timeout == 0 || (pair.device->setup.retry_7_endless && pair.attributes.retry_cnt == 7);
  if (endless || world.manual_time_outs) {
    world.stall(pair);
  } else {
    fail_oldest(world, pair, IBV_WC_RETRY_EXC_ERR);
  }
}

/// iWARP: a send or write is complete as soon as it is in the stream, copied.
void complete_early(World& world, QueuePair& pair) {
  while (pair.done < pair.posted && pair.condition == IBV_QPS_RTS && !pair.silent) {
    SendRequest& request = pair.request(pair.done);
    if (is_fetch(request) || pair.done < pair.sent) return;
    Pieces local;
    request.status = collect(world, pair, pair.done, local);
    if (request.status == IBV_WC_SUCCESS) keep(request, local);
    const bool failed = request.status != IBV_WC_SUCCESS;
    complete_send(pair, request);
    if (failed) enter_error(world, pair);
  }
}

}  // namespace

bool deliver_next(World& world, QueuePair& pair) {
  if (pair.sent == pair.posted || pair.condition != IBV_QPS_RTS || pair.failing || pair.silent) return false;
  SendRequest& request = pair.request(pair.sent);
  if (waits_for_fetches(pair, request)) return false;
  if (request.forced != IBV_WC_SUCCESS && !request.forced_executed) {
    delivered(world, pair, request, request.forced);
    return true;
  }
  Pieces local;
  if (const ibv_wc_status status = collect(world, pair, pair.sent, local)) {
    delivered(world, pair, request, status);
    return true;
  }
  QueuePair::Reach way = reach(world, pair);
  if (way == QueuePair::Reach::ready && loses_packets(pair, local.total)) way = QueuePair::Reach::never;
  switch (way) {
    case QueuePair::Reach::not_yet: world.stall(pair); return false;
    case QueuePair::Reach::never: {
      const std::uint64_t before = pair.done;
      unreachable(world, pair);
      return pair.done != before;
    }
    case QueuePair::Reach::ready: break;
  }
  const std::optional<ibv_wc_status> status = execute(world, pair, *pair.peer, request, local);
  if (!status) {
    world.stall(pair);
    return false;
  }
  delivered(world, pair, request, *status);
  return true;
}

bool acknowledge_next(World& world, QueuePair& pair) {
  if (pair.done >= pair.sent) return false;
  SendRequest& request = pair.request(pair.done);
  if (request.kept && request.status == IBV_WC_SUCCESS) request.status = place_response(world, pair, pair.done);
  const bool failed = request.status != IBV_WC_SUCCESS;
  complete_send(pair, request);
  if (failed) enter_error(world, pair);
  return true;
}

void advance(World& world, QueuePair& pair) {
  if (pair.device->is_iwarp()) complete_early(world, pair);
  if (pair.hold == Hold::everything) return;
  while (deliver_next(world, pair)) {
    if (pair.hold != Hold::nothing) continue;
    while (acknowledge_next(world, pair)) {
    }
    if (pair.device->is_iwarp()) complete_early(world, pair);
  }
}

void fail_oldest(World& world, QueuePair& pair, ibv_wc_status status) {
  SendRequest& request = pair.request(pair.done);
  request.status = status;
  complete_send(pair, request);
  enter_error(world, pair);
}

}  // namespace godwit::fake_verbs
