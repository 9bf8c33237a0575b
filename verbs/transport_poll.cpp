// The completion queue: messages, notifications, and the ends of our own work requests.
#include "verbs/explain.hpp"
#include "verbs/post.hpp"
#include "verbs/transport.hpp"

#include <fmt/format.h>

#include <cstring>

#include <arpa/inet.h>

namespace godwit::verbs {

using core::Completion;

namespace {

// Receives are posted again in batches of this, or when there is nothing else to do.
constexpr std::size_t recycled_at_once = 16;

}  // namespace

std::size_t VerbsTransport::poll(std::span<Completion> completions) noexcept {
  posting_.completions.forget_words();
  if (!retired_.empty()) [[unlikely]] {
    for (Rail& rail : rails_) recycle(rail);
    retired_.clear();
  }
  if (mailbox_.pending()) [[unlikely]]
    handle_events();
  std::size_t n = posting_.completions.empty() ? 0 : posting_.completions.take(completions);
  bool idle = true;
  for (Rail& rail : rails_) {
    if (rail.consumed.size() >= recycled_at_once) recycle(rail);
    n += poll_queue(rail, completions.subspan(n));
    if (!rail.idle)
      idle = false;
    else if (n == 0 && !rail.consumed.empty())
      recycle(rail);
  }
  if (idle) posting_.memory->registrar.look_at_notices();
  if (!owing_.empty()) [[unlikely]]
    send_credits();
  if (!posting_.refused.empty()) [[unlikely]]
    move_refused();
  if (!posting_.failing.empty()) [[unlikely]]
    give_up_failing();
  if (!recovering_.empty()) [[unlikely]]
    pursue_recoveries();
  if (!draining_.empty()) [[unlikely]]
    n += finish_draining(completions.subspan(n));
  return n;
}

// nullptr: of a queue pair that is gone.
VerbsTransport::LinkPointer* VerbsTransport::find_pair(Rail& rail, std::uint32_t number) noexcept {
  auto found = rail.pairs.find(number);
  if (found == rail.pairs.end() && mailbox_.pending()) {
    handle_events();  // the link was announced before its first message could come
    found = rail.pairs.find(number);
  }
  if (found == rail.pairs.end()) return nullptr;
  rail.last_number = number;
  rail.last_pair = &found->second;
  return rail.last_pair;
}

// True: `out` is filled in.
inline bool VerbsTransport::handle(Rail& rail, const ibv_wc& entry, Completion& out) {
  const bool same = rail.last_pair != nullptr && rail.last_number == entry.qp_num;
  LinkPointer* const known = same ? rail.last_pair : find_pair(rail, entry.qp_num);
  Buffer* const buffer = received_buffer(entry.wr_id);
  if (known == nullptr) [[unlikely]] {
    if (buffer != nullptr) rail.consumed.emplace_back(nullptr, buffer);
    return false;
  }
  if (buffer != nullptr) return handle_receive(rail, *known, entry, *buffer, out);
  return handle_send(*known, entry, out);
}

inline std::size_t VerbsTransport::poll_queue(Rail& rail, std::span<Completion> out) noexcept {
  const std::size_t most = std::min(out.size(), rail.entries.size());
  if (most == 0) {
    rail.idle = false;
    return 0;
  }
  std::size_t found = rail.waiting_entries;
  if (found != 0) [[unlikely]] {
    rail.waiting_entries = 0;
  } else if (!rail.failed) {
    const int polled = ibv_poll_cq(rail.adapter.completion_queue(), static_cast<int>(most), rail.entries.data());
    if (polled < 0) [[unlikely]]
      fail_rail(rail, fmt::format("{}: the completion queue cannot be polled; see `dmesg`", rail.adapter.name()));
    found = polled > 0 ? static_cast<std::size_t>(polled) : 0;
  }
  rail.polled += found;
  rail.idle = found == 0;
  std::size_t n = 0;
  for (std::size_t i = 0; i < found; ++i)
    if (handle(rail, rail.entries[i], out[n])) ++n;
  return n;
}

bool VerbsTransport::handle_receive(Rail& rail, const LinkPointer& link, const ibv_wc& entry, Buffer& buffer,
                                    Completion& out) {
  if (entry.status != IBV_WC_SUCCESS) [[unlikely]] {
    rail.consumed.emplace_back(nullptr, &buffer);  // no frame, no credit
    if (entry.status != IBV_WC_WR_FLUSH_ERR) posting_.fail(link, ErrorCode::transport, explain(*link, entry));
    return false;
  }
  rail.consumed.emplace_back(link.get(), &buffer);
  ++link->received;
  if (entry.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    out = {.kind = Completion::Kind::notify, .peer = link->rank(), .imm = ntohl(entry.imm_data)};
    return true;
  }
  Frame frame;
  if (entry.byte_len >= sizeof frame) std::memcpy(&frame, buffer.data, sizeof frame);
  const bool is_message = frame.kind == Frame::Kind::message && entry.byte_len >= message_overhead;
  if (entry.byte_len < sizeof frame || frame.version != protocol_version ||
      (!is_message && frame.kind != Frame::Kind::credit && frame.kind != Frame::Kind::notify)) [[unlikely]] {
    posting_.fail(link, ErrorCode::transport, fmt::format("{} sent a frame that is none", link->peer.text()));
    return false;
  }
  link->credits += frame.credits;
  if (!is_message) {
    // iWARP: who connected has sent its first frame, now we may, too. Elsewhere LinkReady says it.
    if (link->state == Link::State::connecting) [[unlikely]]
      on(LinkReady{link->rank()});
    if (frame.kind != Frame::Kind::credit) {
      out = {.kind = Completion::Kind::notify, .peer = link->rank(), .imm = frame.value};
      return true;
    }
    // It cost no credit, and gives none back; its receive must be there before the peer can send the next but one.
    rail.consumed.pop_back();
    Buffer* const again = &buffer;
    post_again(rail, {&again, 1});
    return false;
  }
  out = {.kind = Completion::Kind::message,
         .peer = link->rank(),
         .payload = {buffer.data + sizeof frame, entry.byte_len - sizeof frame}};
  return true;
}

bool VerbsTransport::handle_send(const LinkPointer& pointer, const ibv_wc& entry, Completion& out) {
  Link& link = *pointer;
  const std::uint64_t number = entry.wr_id >> 1;
  if (number < link.completed || number >= link.posted) return false;
  if (link.state == Link::State::recovering) [[unlikely]]
    if (link.recovery.step != Recovery::Step::drain || may_pass(entry.status)) return false;
  // Those before it have succeeded: mostly without a completion of their own, else theirs is lost.
  for (; link.completed < number; retire(link, posting_, link.completed, true))
    if (const Slot& quiet = link.slot(link.completed); quiet.report) [[unlikely]]
      posting_.completions.done_later(link.rank(), quiet.cookie);
  const Slot& slot = link.slot(number);  // as it is until the next request is posted
  if (entry.status != IBV_WC_SUCCESS) [[unlikely]]
    return handle_failure(pointer, entry, slot, out);
  retire(link, posting_, number, true);
  if (slot.report) out = {.kind = Completion::Kind::done, .peer = link.rank(), .cookie = slot.cookie};
  return slot.report;
}

bool VerbsTransport::handle_failure(const LinkPointer& link, const ibv_wc& entry, const Slot& slot, Completion& out) {
  if (may_pass(entry.status) && begins_recovery(link, entry)) return false;
  retire(*link, posting_, entry.wr_id >> 1, false);
  if (entry.status != IBV_WC_WR_FLUSH_ERR) posting_.fail(link, ErrorCode::transport, explain(*link, entry));
  if (slot.op == core::Op::send) return false;  // its buffer is free; the peer is given up
  out = {.kind = Completion::Kind::done,
         .status = ErrorCode::transport,
         .peer = link->rank(),
         .cookie = slot.cookie,
         .detail = posting_.completions.keep(std::make_unique<std::string>(
             entry.status == IBV_WC_WR_FLUSH_ERR && !link->lost_detail.empty() ? link->lost_detail
                                                                               : explain(*link, entry)))};
  return true;
}

void VerbsTransport::post_again(Rail& rail, std::span<Buffer* const> buffers) noexcept {
  if (rail.failed) return;
  if (const int error = rail.adapter.post_again(buffers); error != 0) [[unlikely]]
    fail_rail(rail, fmt::format("{}: the shared receive queue takes no receive: {}; see `dmesg`", rail.adapter.name(),
                                std::strerror(error)));
}

// The payloads of the last poll are not needed any more.
void VerbsTransport::recycle(Rail& rail) noexcept {
  std::array<Buffer*, 64> buffers;
  for (std::size_t from = 0; from < rail.consumed.size();) {
    std::size_t n = 0;
    for (; n < buffers.size() && from < rail.consumed.size(); ++n, ++from) buffers[n] = rail.consumed[from].second;
    post_again(rail, std::span(buffers).first(n));
  }
  for (const auto& [link, buffer] : rail.consumed) {
    if (link == nullptr || !link->connection) continue;
    // Half of what it may send: it gets the rest before it runs out.
    if (++link->owed == link->connection->granted / 2) owing_.push_back(link->shared_from_this());
  }
  rail.consumed.clear();
}

void VerbsTransport::send_credits() noexcept {
  std::erase_if(owing_, [this](const LinkPointer& link) {
    if (link->state == Link::State::connecting) return false;
    const bool due = link->speaks_first || link->owed >= link->connection->granted / 2;
    return !link->may_post || !due || post_credits(link, posting_);
  });
}

}  // namespace godwit::verbs
