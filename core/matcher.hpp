// Tag matching by MPI's rules (MPI 4.1, section 3.5): per source and context, messages match receives in order;
// a receive takes the earliest message that fits, a message the earliest receive. A pure data structure: no I/O,
// no locks, no allocation once warm. Linked elements belong to the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/messages.hpp"
#include "core/operation.hpp"

namespace godwit::core {

/// A message (or the announcement of one) that came before its receive.
struct Unexpected {
  using Hook = Operation::Hook;
  std::uint32_t context = 0;
  std::uint32_t signature = 0;
  Rank source = 0;  // in the job
  Tag tag = 0;
  std::size_t size = 0;  // of the whole message
  Peer* peer = nullptr;
  MessageKind kind = MessageKind::eager;
  ReadyToSend announcement;     // kind ready_to_send
  std::size_t charged = 0;      // bytes of the sender's eager window that it holds
  std::vector<std::byte> data;  // eager payload; its capacity is kept when the element is reused
  Hook bucket_hook;             // same (context, source, tag) bucket, in order of arrival
  Hook arrival_hook;            // all, in order of arrival
};

class Matcher {
 public:
  Matcher();

  /// The earliest receive that fits; it is unlinked. nullptr: none.
  Operation* arrived(std::uint32_t context, Rank source, Tag tag) noexcept;
  /// Adds a receive that take() found no message for. Uses its context, source and tag.
  void post(Operation& receive);
  /// Unlinks a posted receive; false if it is not posted.
  bool remove(Operation& receive) noexcept;

  /// The earliest message that fits, unlinked; find() leaves it. any_source and any_tag are wild.
  Unexpected* take(std::uint32_t context, Rank source, Tag tag) noexcept {
    return unexpected_count_ == 0 ? nullptr : take_one(context, source, tag);
  }
  Unexpected* find(std::uint32_t context, Rank source, Tag tag) noexcept;
  void add(Unexpected& message);

  /// Elements for messages: reused, so that a busy unexpected queue does not allocate.
  Unexpected& acquire();
  void recycle(Unexpected& message) noexcept;

  std::size_t posted_count() const noexcept { return posted_count_; }
  std::size_t unexpected_count() const noexcept { return unexpected_count_; }
  /// Messages of a context, earliest first (reports, clean-up).
  template <class F>
  void for_each_unexpected(F&& visit) {
    for (auto it = arrivals_.begin(); it != arrivals_.end();) visit(*it++);
  }
  void unlink(Unexpected& message) noexcept;

 private:
  using Bucket =
      boost::intrusive::list<Unexpected,
                             boost::intrusive::member_hook<Unexpected, Unexpected::Hook, &Unexpected::bucket_hook>,
                             boost::intrusive::constant_time_size<false>>;
  using Arrivals =
      boost::intrusive::list<Unexpected,
                             boost::intrusive::member_hook<Unexpected, Unexpected::Hook, &Unexpected::arrival_hook>,
                             boost::intrusive::constant_time_size<false>>;

  Unexpected* take_one(std::uint32_t context, Rank source, Tag tag) noexcept;
  std::size_t bucket_of(std::uint32_t context, Rank source, Tag tag) const noexcept;
  void grow();

  std::vector<OperationQueue> posted_;  // exact receives, by bucket
  OperationQueue wild_;                 // receives with any_source or any_tag, in order of posting
  std::vector<Bucket> unexpected_;
  Arrivals arrivals_;
  std::size_t mask_;
  std::size_t posted_count_ = 0;
  std::size_t unexpected_count_ = 0;
  std::uint64_t next_order_ = 0;
  std::vector<std::unique_ptr<Unexpected>> storage_;
  std::vector<Unexpected*> free_;
};

}  // namespace godwit::core
