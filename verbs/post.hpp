// From core's work requests to those of verbs. Threads: the worker's.
#pragma once

#include "verbs/posting.hpp"

#include <memory>

namespace godwit::verbs {

/// False: the link or its adapter is full, or the peer has no receive left; nothing has happened.
bool post_message(const std::shared_ptr<Link>& link, Posting& posting, const core::WireHeader& header,
                  std::span<const std::byte> payload) noexcept;
/// Copied into the work request or a buffer; without completion. False as above, or too long for that.
bool post_short_put(const std::shared_ptr<Link>& link, Posting& posting, std::span<const std::byte> data,
                    core::RemoteAddress remote, const std::optional<std::uint32_t>& imm) noexcept;
/// put, get, atomics, flush. False as above.
bool post_request(const std::shared_ptr<Link>& link, Posting& posting, const core::WorkRequest& request);
/// Tells the peer of the receives that are free again. False as above.
bool post_credits(const std::shared_ptr<Link>& link, Posting& posting) noexcept;
/// Its completion says that all before it have taken effect at the peer: a write of nothing; on iWARP, where writes
/// say less, a read of a few bytes.
bool post_flush(const std::shared_ptr<Link>& link, Posting& posting) noexcept;

/// A short get, mostly by way of a buffer, with completion. False as above, or too long for that.
bool post_short_get(const std::shared_ptr<Link>& link, Posting& posting, std::span<std::byte> data,
                    core::RemoteAddress remote, std::uint64_t cookie) noexcept;

void give_back(Memory& memory, const Slot& slot, bool succeeded) noexcept;
/// Everything up to and including work request `number` has left the queue: gives back what they held.
inline void retire(Link& link, Posting& posting, std::uint64_t number, bool succeeded) noexcept {
  posting.under_way -= number + 1 - link.completed;
  for (; link.completed <= number; ++link.completed)
    if (const Slot& slot = link.slot(link.completed); slot.holds) give_back(*posting.memory, slot, succeeded);
}

}  // namespace godwit::verbs
