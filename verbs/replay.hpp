// A fresh queue pair in the place of one that failed: what becomes of the work requests under way. Threads: the
// worker's.
//
// Queue pairs work in order: when the peer has got a frame, everything posted before it has been executed. So that is
// done, but for reads, whose data may not have come back: they are repeated. What was posted later is repeated in its
// order. A write that the peer may have got already puts the same bytes into the same place; no frame that was posted
// after it has come, so nothing has told the peer that it may use that place for something else. Atomics are not
// repeated: they fail, in words.
#pragma once

#include "verbs/posting.hpp"

#include <cstdint>
#include <memory>

namespace godwit::verbs {

/// Frames of ours that the peer has for certain: all whose work requests are done.
std::uint64_t acknowledged(Link& link) noexcept;
/// `received`: frames of ours that the peer has got; from acknowledged() to `sent`. The link may post. Returns how
/// many work requests were posted again.
std::uint64_t replay(const std::shared_ptr<Link>& link, Posting& posting, std::uint64_t received);

}  // namespace godwit::verbs
