// Which rings are looked at in a poll. Links that have talked lately are hot and looked at every time; of the rest
// two are looked at in rotation, so that many idle peers do not slow down a talkative one. A link that a look finds
// talking becomes hot. Threads: the worker's.
#pragma once

#include "shm/link.hpp"

#include <boost/container/static_vector.hpp>

#include <vector>

namespace godwit::shm {

class LinkPoller {
 public:
  void add(Link& link);
  void remove(Link& link) noexcept;

  /// Fills in messages and notifications; every link gets its turn, whatever the others send.
  std::size_t poll(std::span<core::Completion> out) noexcept;
  /// As poll, of one link only.
  std::size_t drain(Link& link, std::span<core::Completion> out) noexcept;
  /// Gives back what the polls since the last release have given out.
  void release() noexcept {
    for (Link* link : given_) {
      link->in.release();
      link->given = false;
    }
    given_.clear();
  }
  /// Whether a poll would find something.
  bool ready() const noexcept;

 private:
  static constexpr std::size_t max_hot = 8;
  static constexpr std::size_t cold_looks = 2;
  static constexpr std::size_t burst = 16;               // entries of one link in one poll
  static constexpr std::uint64_t cold_after = 4096;      // polls without an entry
  static constexpr std::uint64_t cool_down_mask = 1023;  // how often that is checked

  void look_at_cold(std::span<core::Completion> out, std::size_t& n) noexcept;
  void help(Link& link) noexcept;
  void make_hot(Link& link) noexcept;
  void cool_down() noexcept;

  boost::container::static_vector<Link*, max_hot> hot_;
  std::uint64_t polls_ = 0;
  std::size_t next_hot_ = 0;
  std::size_t next_cold_ = 0;
  bool cold_first_ = false;  // the hot ones have left no room for the others
  std::vector<Link*> given_;
  std::vector<Link*> links_;
};

}  // namespace godwit::shm
