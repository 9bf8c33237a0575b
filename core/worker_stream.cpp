// Streams: long transfers as data messages, a few pieces at a time so that other messages pass between them.
#include <algorithm>

#include "core/protocols/handlers.hpp"
#include "core/worker.hpp"

namespace godwit::core {

namespace {
constexpr int pieces_per_pass = 8;
// Posted and not completed, of one stream.
constexpr std::uint8_t pieces_in_flight = 32;
}  // namespace

void Worker::add_stream(Operation& operation) {
  streams_.push_back(operation);
  busy_ = true;
  pump_stream(operation);
}

void Worker::pump_streams() {
  // A callback may end other streams: each leaves the list that it is in.
  OperationQueue round;
  round.swap(streams_);
  while (!round.empty()) {
    Operation& operation = round.front();
    round.pop_front();
    streams_.push_back(operation);
    pump_stream(operation);
  }
}

bool Worker::pump_stream(Operation& operation) {
  Peer& to = *operation.peer;
  const bool put = operation.kind == Operation::Kind::put;
  for (int i = 0; i < pieces_per_pass && operation.posted < operation.size && operation.in_flight < pieces_in_flight;
       ++i) {
    const std::size_t bytes = std::min(operation.size - operation.posted, to.piece);
    WorkRequest request;
    request.header = header(to, put ? MessageKind::put_data : MessageKind::data);
    if (put) {
      request.header.context = operation.slot;
      request.header.tag = static_cast<std::int64_t>(operation.offset + operation.posted);
    } else {
      request.header.tag = static_cast<std::int64_t>(operation.remote_id);
      set_offset(request.header, operation.posted);
    }
    request.local = {operation.buffer + operation.posted, bytes};
    request.cookie = operation.id;
    request.signalled = bytes > to.inline_max;
    if (!try_submit(to, request)) return false;
    operation.posted += bytes;
    if (request.signalled) ++operation.in_flight;
  }
  if (operation.posted < operation.size || operation.in_flight > 0) return false;
  operation.queue_hook.unlink();
  if (put)
    finish_emulated_put(*this, operation);
  else
    complete(operation);
  return true;
}

}  // namespace godwit::core
