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
  if (consumed_.size() >= recycled_at_once) recycle();
  posting_.completions.forget_words();
  if (!retired_.empty()) [[unlikely]] {
    recycle();
    retired_.clear();
  }
  if (mailbox_.pending()) [[unlikely]]
    handle_events();
  std::size_t n = posting_.completions.empty() ? 0 : posting_.completions.take(completions);
  bool idle = false;
  n += poll_queue(completions.subspan(n), idle);
  if (idle && n == 0 && !consumed_.empty()) recycle();
  if (idle) adapter_->registrar().look_at_notices();
  if (!owing_.empty()) [[unlikely]]
    send_credits();
  if (!posting_.failing.empty()) [[unlikely]]
    give_up_failing();
  if (!recovering_.empty()) [[unlikely]]
    pursue_recoveries(idle);
  if (!draining_.empty()) [[unlikely]]
    n += finish_draining(completions.subspan(n), idle);
  return n;
}

// nullptr: of a queue pair that is gone.
VerbsTransport::LinkPointer* VerbsTransport::find_pair(std::uint32_t number) noexcept {
  auto found = pairs_.find(number);
  if (found == pairs_.end() && mailbox_.pending()) {
    handle_events();  // the link was announced before its first message could come
    found = pairs_.find(number);
  }
  if (found == pairs_.end()) return nullptr;
  last_number_ = number;
  last_pair_ = &found->second;
  return last_pair_;
}

// True: `out` is filled in.
inline bool VerbsTransport::handle(const ibv_wc& entry, Completion& out) {
  const bool same = last_pair_ != nullptr && last_number_ == entry.qp_num;
  LinkPointer* const known = same ? last_pair_ : find_pair(entry.qp_num);
  Buffer* const buffer = received_buffer(entry.wr_id);
  if (known == nullptr) [[unlikely]] {
    if (buffer != nullptr) consumed_.emplace_back(nullptr, buffer);
    return false;
  }
  if (buffer != nullptr) return handle_receive(*known, entry, *buffer, out);
  return handle_send(*known, entry, out);
}

// `idle`: the queue was found empty.
std::size_t VerbsTransport::poll_queue(std::span<Completion> out, bool& idle) noexcept {
  const std::size_t most = std::min(out.size(), entries_.size());
  if (most == 0) return 0;
  std::size_t found = std::exchange(waiting_entries_, 0);
  if (found == 0) {
    const int polled = ibv_poll_cq(adapter_->completion_queue(), static_cast<int>(most), entries_.data());
    if (polled < 0) [[unlikely]]
      fail_all(fmt::format("{}: the completion queue cannot be polled; see `dmesg`", adapter_->name()));
    found = polled > 0 ? static_cast<std::size_t>(polled) : 0;
  }
  polled_ += found;
  idle = found == 0;
  std::size_t n = 0;
  for (std::size_t i = 0; i < found; ++i)
    if (handle(entries_[i], out[n])) ++n;
  return n;
}

bool VerbsTransport::handle_receive(const LinkPointer& link, const ibv_wc& entry, Buffer& buffer, Completion& out) {
  if (entry.status != IBV_WC_SUCCESS) [[unlikely]] {
    consumed_.emplace_back(nullptr, &buffer);  // no frame, no credit
    if (entry.status != IBV_WC_WR_FLUSH_ERR) posting_.fail(link, ErrorCode::transport, explain(*link, entry));
    return false;
  }
  consumed_.emplace_back(link.get(), &buffer);
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
    consumed_.pop_back();
    Buffer* const again = &buffer;
    post_again({&again, 1});
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

void VerbsTransport::post_again(std::span<Buffer* const> buffers) noexcept {
  if (const int error = adapter_->post_again(buffers); error != 0) [[unlikely]]
    fail_all(fmt::format("{}: the shared receive queue takes no receive: {}; see `dmesg`", adapter_->name(),
                         std::strerror(error)));
}

// The payloads of the last poll are not needed any more.
void VerbsTransport::recycle() noexcept {
  std::array<Buffer*, 64> buffers;
  for (std::size_t from = 0; from < consumed_.size();) {
    std::size_t n = 0;
    for (; n < buffers.size() && from < consumed_.size(); ++n, ++from) buffers[n] = consumed_[from].second;
    post_again(std::span(buffers).first(n));
  }
  for (const auto& [link, buffer] : consumed_) {
    if (link == nullptr || !link->connection) continue;
    // Half of what it may send: it gets the rest before it runs out.
    if (++link->owed == link->connection->granted / 2) owing_.push_back(link->shared_from_this());
  }
  consumed_.clear();
}

void VerbsTransport::send_credits() noexcept {
  std::erase_if(owing_, [this](const LinkPointer& link) {
    if (link->state == Link::State::connecting) return false;
    const bool due = link->speaks_first || link->owed >= link->connection->granted / 2;
    return !link->may_post || !due || post_credits(link, posting_);
  });
}

}  // namespace godwit::verbs
