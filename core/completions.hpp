// Completions that wait for the next poll, in the order in which they came up. Bounded for those of work requests:
// post() accepts no more when it is full. Threads: the worker's.
#pragma once

#include "core/transport.hpp"

#include <boost/circular_buffer.hpp>

#include <memory>
#include <string>
#include <vector>

namespace godwit::core {

class Completions {
 public:
  Completions() : entries_(2 * capacity) {}

  /// Room for completions of work requests?
  bool has_room() const noexcept { return entries_.size() < capacity; }
  bool empty() const noexcept { return entries_.empty(); }
  void done(Rank peer, std::uint64_t cookie) noexcept {
    entries_.push_back({cookie, peer, Completion::Kind::done, ErrorCode::ok, nullptr});
  }
  /// Of work requests that post() accepted earlier: there may be more of them than has_room() allows for.
  void done_later(Rank peer, std::uint64_t cookie) {
    make_room();
    done(peer, cookie);
  }
  void failed_later(Rank peer, std::uint64_t cookie, ErrorCode status, std::string detail) {
    make_room();
    failed(peer, cookie, status, std::move(detail));
  }
  void failed(Rank peer, std::uint64_t cookie, ErrorCode status, std::string detail) {
    entries_.push_back(
        {cookie, peer, Completion::Kind::done, status, std::make_unique<std::string>(std::move(detail))});
  }
  void connected(Rank peer) {
    make_room();
    entries_.push_back({0, peer, Completion::Kind::connected, ErrorCode::ok, nullptr});
  }
  void lost(Rank peer, const Status& why) {
    make_room();
    entries_.push_back(
        {0, peer, Completion::Kind::peer_lost, why.code(), std::make_unique<std::string>(why.message())});
  }

  /// Moves up to out.size() into `out`. Their words stay valid until forget_words().
  std::size_t take(std::span<Completion> out) {
    std::size_t n = 0;
    for (; n < out.size() && !entries_.empty(); ++n) {
      Entry& entry = entries_.front();
      out[n] = {.kind = entry.kind, .status = entry.status, .peer = entry.peer, .cookie = entry.cookie};
      if (entry.detail) out[n].detail = keep(std::move(entry.detail));
      entries_.pop_front();
    }
    return n;
  }
  /// Keeps words of a completion until forget_words().
  std::string_view keep(std::unique_ptr<std::string> words) {
    words_.push_back(std::move(words));
    return *words_.back();
  }
  void forget_words() noexcept {
    if (!words_.empty()) [[unlikely]]
      words_.clear();
  }

 private:
  static constexpr std::size_t capacity = 1024;

  struct Entry {
    std::uint64_t cookie = 0;
    Rank peer = 0;
    Completion::Kind kind = Completion::Kind::done;
    ErrorCode status = ErrorCode::ok;
    std::unique_ptr<std::string> detail;
  };

  void make_room() {
    if (entries_.full()) entries_.set_capacity(2 * entries_.capacity());
  }

  boost::circular_buffer<Entry> entries_;
  std::vector<std::unique_ptr<std::string>> words_;
};

}  // namespace godwit::core
