#include "shm/link_poller.hpp"

#include <algorithm>
#include <cstring>

namespace godwit::shm {

using core::Completion;

void LinkPoller::add(Link& link) {
  links_.push_back(&link);
  given_.reserve(links_.size());
  make_hot(link);
}

void LinkPoller::remove(Link& link) noexcept {
  std::erase(links_, &link);
  std::erase(given_, &link);
  if (const auto hot = std::find(hot_.begin(), hot_.end(), &link); hot != hot_.end()) hot_.erase(hot);
  link.hot = false;
}

std::size_t LinkPoller::drain(Link& link, std::span<Completion> out) noexcept {
  const bool stream = link.last_hit + 1 == polls_;
  std::size_t n = 0;
  RingReader::Entry entry;
  while (n < out.size() && link.in.next(entry)) {
    Completion& completion = out[n++];
    if (entry.kind == EntryKind::message) [[likely]] {
      completion = {.kind = Completion::Kind::message, .peer = link.rank(), .payload = entry.bytes};
    } else {
      completion = {.kind = Completion::Kind::notify, .peer = link.rank()};
      std::memcpy(&completion.imm, entry.bytes.data(), sizeof(completion.imm));
    }
    // Behind a longer entry the writer has cleaned a word: to look there now would make an answer wait for that line.
    if (!stream && entry.bytes.size() > slot_bytes - header_bytes) break;
  }
  if (n != 0) {
    link.last_hit = polls_;
    if (!link.given) {
      link.given = true;
      given_.push_back(&link);
    }
  }
  return n;
}

std::size_t LinkPoller::poll(std::span<Completion> out) noexcept {
  ++polls_;
  std::size_t n = 0;
  const bool any_cold = links_.size() != hot_.size();
  if (cold_first_) [[unlikely]]
    look_at_cold(out, n);
  // Who is next when `out` is full is first the next time.
  for (std::size_t i = hot_.size(); i != 0 && n < out.size(); --i) {
    if (next_hot_ >= hot_.size()) next_hot_ = 0;
    Link& link = *hot_[next_hot_++];
    n += drain(link, out.subspan(n, std::min(burst, out.size() - n)));
    if (link.joint.wanted()) [[unlikely]]
      help(link);
  }
  if (any_cold && !cold_first_) look_at_cold(out, n);
  cold_first_ = any_cold && n == out.size() && !cold_first_;
  if ((polls_ & cool_down_mask) == 0) [[unlikely]]
    cool_down();
  return n;
}

void LinkPoller::look_at_cold(std::span<Completion> out, std::size_t& n) noexcept {
  for (std::size_t i = 0; i < cold_looks && n < out.size(); ++i) {
    if (next_cold_ >= links_.size()) next_cold_ = 0;
    Link& link = *links_[next_cold_++];
    if (link.hot) continue;
    if (link.joint.wanted()) help(link);
    if (!link.in.ready()) continue;
    n += drain(link, out.subspan(n, std::min(burst, out.size() - n)));
    make_hot(link);
  }
}

// Who asks for help comes again soon.
void LinkPoller::help(Link& link) noexcept {
  link.joint.help(link.remote.cma());
  link.last_hit = polls_;
  if (!link.hot) make_hot(link);
}

void LinkPoller::make_hot(Link& link) noexcept {
  link.hot = true;
  link.last_hit = polls_;
  if (hot_.size() < max_hot) return hot_.push_back(&link);
  const auto coolest = std::min_element(hot_.begin(), hot_.end(),
                                        [](const Link* a, const Link* b) { return a->last_hit < b->last_hit; });
  (*coolest)->hot = false;
  *coolest = &link;
}

void LinkPoller::cool_down() noexcept {
  for (std::size_t i = hot_.size(); i-- > 0;) {
    if (polls_ - hot_[i]->last_hit <= cold_after) continue;
    hot_[i]->hot = false;
    hot_.erase(hot_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

bool LinkPoller::ready() const noexcept {
  return std::any_of(links_.begin(), links_.end(), [](const Link* link) { return link->in.ready(); });
}

}  // namespace godwit::shm
