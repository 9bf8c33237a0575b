// Links and what travels on them; faults.
#include <sys/eventfd.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cstring>

#include "core/messages.hpp"
#include "fake/fake_transport.hpp"

namespace godwit::fake {

using core::Completion;
using core::Op;

core::Capabilities full_capabilities() {
  core::Capabilities capabilities;
  capabilities.max_message = 8192 + sizeof(core::WireHeader);
  capabilities.max_inline = 8192;
  capabilities.max_rdma = std::size_t{1} << 20;
  capabilities.rma = capabilities.private_rma = capabilities.put_notify = true;
  capabilities.put_done = core::PutDone::remote;
  capabilities.atomics = core::AtomicsDomain::cpu;
  capabilities.latency_s = 1e-6;
  capabilities.bandwidth_Bps = 1e9;
  capabilities.rma_overhead_s = 2e-6;
  return capabilities;
}

std::shared_ptr<Fabric> Fabric::make(Settings settings) { return std::shared_ptr<Fabric>(new Fabric(settings)); }

Fabric::Link& Fabric::link(Rank from, Rank to) {
  Link& found = links_[{from, to}];
  found.from = from;
  found.to = to;
  return found;
}

void Fabric::push(Rank to, Completion completion, Link* counted, std::string words, std::vector<std::byte> message) {
  Port& port = ports_[to];
  if (!exists(port)) {
    if (counted != nullptr) --counted->unpolled;
    return;
  }
  port.inbox.push_back({completion, std::move(message), std::move(words), counted});
  const std::uint64_t one = 1;
  if (port.armed) [[maybe_unused]]
    const auto written = ::write(port.event_fd, &one, sizeof one);
}

// --- movement ------------------------------------------------------------------------------------------------

void Fabric::mark_connected(Link& one_way) {
  const bool before = std::exchange(one_way.connected, true);
  if (one_way.opened && !before) push(one_way.from, {.kind = Completion::Kind::connected, .peer = one_way.to}, nullptr);
}

void Fabric::connect(Rank a, Rank b) {
  const Guard guard(mutex_);
  mark_connected(link(a, b));
  mark_connected(link(b, a));
}

bool Fabric::deliver_from(Link& from) {
  if (from.wire.empty()) return false;
  Item item = std::move(from.wire.front());
  from.wire.pop_front();
  deliver(from, item);
  return true;
}

bool Fabric::step() {
  const Guard guard(mutex_);
  Link* oldest = nullptr;
  for (auto& [ends, one] : links_)
    if (!one.wire.empty() && (oldest == nullptr || one.wire.front().order < oldest->wire.front().order)) oldest = &one;
  return oldest != nullptr && deliver_from(*oldest);
}

bool Fabric::step(std::mt19937_64& random) {
  const Guard guard(mutex_);
  std::vector<Link*> busy;
  for (auto& [ends, one] : links_)
    if (!one.wire.empty()) busy.push_back(&one);
  return !busy.empty() && deliver_from(*busy[random() % busy.size()]);
}

std::size_t Fabric::deliver_all() {
  std::size_t count = 0;
  while (step()) ++count;
  return count;
}

bool Fabric::idle() const {
  const Guard guard(mutex_);
  for (const auto& [ends, one] : links_)
    if (!one.wire.empty()) return false;
  for (const auto& [rank, port] : ports_)
    if (exists(port) && !port.inbox.empty()) return false;
  return true;
}

void Fabric::done(Link& on, const Item& item, bool counted) {
  Completion completion;
  completion.peer = on.to;
  completion.cookie = item.request.cookie;
  push(on.from, completion, counted ? &on : nullptr);
}

void Fabric::deliver(Link& on, Item& item) {
  const core::WorkRequest& request = item.request;
  if (item.good_bye) {
    lose(link(on.to, on.from), ErrorCode::ok, fmt::format("rank {} said good-bye", on.from));
    return;
  }
  std::string failure;
  if (item.failure != ErrorCode::ok)
    failure = fmt::format("fake failure of a {} from rank {} to rank {}", to_string({on.from, on.to, request, {}}),
                          on.from, on.to);
  else if (request.op != Op::send && request.op != Op::flush)
    failure = move_memory(request, item.copied ? std::span<const std::byte>(item.copy) : request.local);
  if (!failure.empty()) {
    Completion completion;
    completion.status = item.failure == ErrorCode::ok ? ErrorCode::transport : item.failure;
    completion.peer = on.to;
    completion.cookie = request.cookie;
    push(on.from, completion, &on, failure);
    const bool fatal = item.failure == ErrorCode::ok ? settings_.access_error_cuts : request.op == Op::send && !silent_;
    if (fatal) cut(on.from, on.to, completion.status);
    return;
  }
  const bool done_at_post = request.op == Op::put && settings_.capabilities.put_done == core::PutDone::local;
  const bool done_now = request.signalled && !done_at_post;
  if (request.op == Op::send) {
    std::vector<std::byte> message(sizeof(core::WireHeader) + request.local.size());
    std::memcpy(message.data(), &request.header, sizeof(core::WireHeader));
    core::copy_bytes(message.data() + sizeof(core::WireHeader),
                     item.copied ? std::span<const std::byte>(item.copy) : request.local);
    push(on.to, {.kind = Completion::Kind::message, .peer = on.from}, &on, {}, std::move(message));
  } else if (request.op == Op::put && request.imm) {
    push(on.to, {.kind = Completion::Kind::notify, .peer = on.from, .imm = *request.imm}, &on);
  } else if (!done_now) {
    --on.unpolled;
  } else {
    return done(on, item, true);
  }
  if (done_now) done(on, item, false);
}

// --- faults ----------------------------------------------------------------------------------------------------

void Fabric::refuse_posts(std::uint64_t nth, std::uint64_t times) {
  const Guard guard(mutex_);
  refuse_from_ = nth;
  refuse_until_ = nth + times;
}

void Fabric::fail_request(std::uint64_t nth, ErrorCode code) {
  const Guard guard(mutex_);
  failures_[nth] = code;
}

// `to_lost`: from the side that is told.
void Fabric::lose(Link& to_lost, ErrorCode code, std::string words) {
  if (to_lost.lost) return;
  to_lost.lost = true;
  to_lost.unpolled -= to_lost.wire.size();
  to_lost.wire.clear();
  if (to_lost.opened || to_lost.connected)
    push(to_lost.from, {.kind = Completion::Kind::peer_lost, .status = code, .peer = to_lost.to}, nullptr,
         std::move(words));
}

void Fabric::kill(Rank rank) {
  const Guard guard(mutex_);
  for (auto& [ends, one] : links_)
    while (one.from == rank && deliver_from(one)) {
    }
  ports_[rank].alive = false;
  for (auto& [ends, one] : links_)
    if (one.to == rank) lose(one, ErrorCode::peer_failed, fmt::format("rank {} has died (fake)", rank));
}

void Fabric::cut(Rank a, Rank b, ErrorCode code) {
  const Guard guard(mutex_);
  lose(link(a, b), code, fmt::format("the connection of rank {} with rank {} broke (fake)", a, b));
  lose(link(b, a), code, fmt::format("the connection of rank {} with rank {} broke (fake)", b, a));
}

}  // namespace godwit::fake
