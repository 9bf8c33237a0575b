// Sizes of what the small-message path touches. A change here is a decision, not an accident.
#include <type_traits>

#include "core/matcher.hpp"
#include "core/messages.hpp"
#include "core/operation.hpp"

namespace godwit::core {
namespace {

// On the wire: see docs/wire.md.
static_assert(sizeof(WireHeader) == 24 && std::is_trivially_copyable_v<WireHeader>);
static_assert(sizeof(ReadyToSend) == 72);
static_assert(sizeof(ClearToSend) == 24);
static_assert(sizeof(Finished) == 16);
static_assert(sizeof(PutEnd) == 32);
static_assert(sizeof(GetRequest) == 32);
static_assert(sizeof(AtomicRequest) == 40);
static_assert(sizeof(AtomicReply) == 24);
static_assert(sizeof(AbortMessage) == 16);
static_assert(message_kind_count == static_cast<std::size_t>(MessageKind::awaited) + 1);

// Every protocol message fits into the smallest message of a transport.
static_assert(sizeof(WireHeader) + sizeof(ReadyToSend) <= smallest_max_message);
static_assert(sizeof(WireHeader) + sizeof(AbortMessage) < smallest_max_message);

// In memory.
static_assert(sizeof(WorkRequest) == 104 && std::is_trivially_copyable_v<WorkRequest>);
static_assert(sizeof(Completion) == 56 && std::is_trivially_copyable_v<Completion>);
static_assert(sizeof(Operation) == 448);
static_assert(sizeof(Unexpected) == 184);

}  // namespace
}  // namespace godwit::core
